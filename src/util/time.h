/* Units of time. A name says what is measured and in what: SL_MINUTE_US is a minute in
 * microseconds. Times that are kept are int64_t, with the unit as the last part of their name. */
#ifndef SLICED_UTIL_TIME_H
#define SLICED_UTIL_TIME_H

#include <stdint.h>

#define SL_US_NS     INT64_C(1000)
#define SL_MS_NS     (1000 * SL_US_NS)
#define SL_SECOND_NS (1000 * SL_MS_NS)
#define SL_MINUTE_NS (60 * SL_SECOND_NS)
#define SL_HOUR_NS   (60 * SL_MINUTE_NS)

#define SL_MS_US     INT64_C(1000)
#define SL_SECOND_US (1000 * SL_MS_US)
#define SL_MINUTE_US (60 * SL_SECOND_US)
#define SL_HOUR_US   (60 * SL_MINUTE_US)
#define SL_DAY_US    (24 * SL_HOUR_US)

#define SL_MINUTE_S INT64_C(60)
#define SL_HOUR_S   (60 * SL_MINUTE_S)
#define SL_DAY_S    (24 * SL_HOUR_S)

#endif
