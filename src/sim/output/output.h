/* The forms in which results are printed. */
#ifndef SLICED_SIM_OUTPUT_H
#define SLICED_SIM_OUTPUT_H

enum sl_output { SL_OUTPUT_TABLE, SL_OUTPUT_CSV, SL_OUTPUT_JSON };

#endif
