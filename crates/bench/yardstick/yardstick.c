// The yardstick: the engine's algorithms in C, so that one machine can run both and print the ratio.
//
// Build: cc -std=gnu11 -O3 -march=native -o yardstick yardstick.c -lm -lpthread
// The other .c files of this folder are parts of this one.

#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

#include "common.c"
#include "vector.c"
#include "mixture.c"
#include "data.c"
#include "memory.c"

int main(int argc, char **argv) {
  Options options = {.repeat = 3};
  (void)argc; (void)argv;
  make_tables();
  make_marks();
  stream_mixture(options);stream_memory(options);
  return 0;
}
