// The yardstick: the engine's algorithms in C, so that one machine can run both and print the ratio.
//
// Build: cc -std=gnu11 -O3 -march=native -fno-math-errno -o yardstick yardstick.c -lm -lpthread
// The other .c files of this folder are parts of this one.

#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
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
#include "single.c"
#include "data.c"
#include "memory.c"
#include "pool.c"
#include "text.c"
#include "text_plain.c"

static const char usage[] =
    "usage: yardstick stream-mixture | stream-memory [CASE] | pool-reject | pool-scan [options]\n"
    "       yardstick parse csv|svm|vw PATH [options]\n"
    "       yardstick generate csv|svm|vw FEATURES[/OF] ROWS PATH\n"
    "options: --repeat N (3), --step ETA, --rows N, --labels N (pool-reject), --dim N (parse svm, vw)\n";

static double positive(const char *name, const char *text) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !(0.0 < value) || 1e15 < value)
    fail("%s is \"%s\": expected a positive number", name, text);
  return value;
}

/// Takes the options out of the arguments; gives how many words are left.
static int take_options(int argc, char **argv, Options *options) {
  int kept = 1;
  for (int k = 1; k < argc; k++) {
    if (strncmp(argv[k], "--", 2)) {
      argv[kept++] = argv[k];
      continue;
    }
    const char *name = argv[k];
    if (++k == argc) fail("%s has no value", name);
    double value = positive(name, argv[k]);
    if (!strcmp(name, "--repeat")) options->repeat = value < 101 ? (int)(value + 0.5) : 101;
    else if (!strcmp(name, "--step")) options->step = value;
    else if (!strcmp(name, "--rows")) options->n_rows = (uint64_t)value;
    else if (!strcmp(name, "--labels")) options->labels = (uint64_t)value;
    else if (!strcmp(name, "--dim")) options->dim = (size_t)value;
    else fail("unknown option \"%s\"\n%s", name, usage);
  }
  if (options->repeat < 1) options->repeat = 1;
  return kept;
}

/// "30", or "50/1000000" for 50 features of a million.
static void run_generate(char **words) {
  char *slash = strchr(words[1], '/');
  size_t dim = slash ? (size_t)positive("OF", slash + 1) : 0;
  if (slash) *slash = '\0';
  size_t width = (size_t)positive("FEATURES", words[1]);
  if (!dim) dim = width;
  if (dim < width) fail("a row of %zu features cannot be made of %zu", width, dim);
  generate(format_named(words[0]), width, dim, (uint64_t)positive("ROWS", words[2]), words[3]);
}

int main(int argc, char **argv) {
  Options options = {.repeat = 3};
  argc = take_options(argc, argv, &options);
  const char *command = argc < 2 ? "" : argv[1];
  make_tables();
  make_marks();
  if (!strcmp(command, "stream-mixture") && argc == 2) stream_mixture(options);
  else if (!strcmp(command, "stream-memory") && argc <= 3) stream_memory(options, argc == 3 ? argv[2] : NULL);
  else if (!strcmp(command, "pool-reject") && argc == 2) pool_reject(options);
  else if (!strcmp(command, "pool-scan") && argc == 2) pool_scan(options);
  else if (!strcmp(command, "parse") && argc == 4) parse(format_named(argv[2]), argv[3], options);
  else if (!strcmp(command, "generate") && argc == 6) run_generate(argv + 2);
  else {
    fputs(usage, stderr);
    return 2;
  }
  return 0;
}
