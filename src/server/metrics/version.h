/* The name of this build. */
#ifndef SLICED_SERVER_VERSION_H
#define SLICED_SERVER_VERSION_H

#ifndef SL_VERSION
#define SL_VERSION "0.1.0"
#endif

/* "gcc 12.2.0", the compiler that built it. */
#if defined(__clang__)
#define SL_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define SL_COMPILER "gcc " __VERSION__
#else
#define SL_COMPILER "unknown"
#endif

#endif
