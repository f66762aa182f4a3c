// What every measurement needs: hashed random numbers, the clock, the options, the printed line.
//
// This file is included by yardstick.c; the program is compiled as one unit.

#define INLINE static inline __attribute__((always_inline))

#define GOLDEN 0x9e3779b97f4a7c15ull
#define KEY_DATA 0x243f6a8885a308d3ull
#define KEY_COMPONENT 0x13198a2e03707344ull
#define KEY_COIN 0xa4093822299f31d0ull
#define KEY_LABEL 0x082efa98ec4e6c89ull
#define KEY_MODEL 0x452821e638d01377ull
#define KEY_COLUMN 0xbe5466cf34e90c6cull
#define KEY_PROPOSAL 0xc0ac29b7c97c50ddull

#define LN2 0.69314718055994530942

/// The finalizer of splitmix64 at place `time` of the stream named by `key`.
INLINE uint64_t hash_at(uint64_t key, uint64_t time) {
  uint64_t z = key + (time + 1) * GOLDEN;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// 52 bits of a hash as a number in [0, 1).
INLINE double unit(uint64_t hash) { return (double)(hash >> 12) * 0x1p-52; }

/// 32 bits as a number in (0, 1).
INLINE double unit_half(uint32_t bits) { return ((double)bits + 0.5) * 0x1p-32; }

typedef struct {
  int repeat;
  double step;      // 0: the default of the measurement
  uint64_t n_rows;  // 0: the default of the measurement
  uint64_t dim;     // bound on feature numbers in text
  uint64_t labels;  // labels to pay for in pool-reject
} Options;

/// What a run found, so that two programs can be seen to have done the same work.
typedef struct {
  uint64_t n_rows, asked;
  double expected, theta[3], mean[3];
} Checks;

static double clock_ns(clockid_t id) {
  struct timespec at;
  clock_gettime(id, &at);
  return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static double cpu_ns(void) { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }
static double wall_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

static int by_value(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (b < a) - (a < b);
}

static double median(double *values, int n) {
  qsort(values, (size_t)n, sizeof *values, by_value);
  return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("yardstick: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

/// Large blocks are asked for in huge pages: rows read at random would else pay for the page table.
static void *allocate(size_t bytes) {
  size_t page = (size_t)1 << 21;
  void *block = aligned_alloc(page, (bytes + page - 1) / page * page);
  if (!block) fail("no memory for %zu bytes", bytes);
  madvise(block, bytes, MADV_HUGEPAGE);
  return block;
}

static void print_triple(const char *name, const double *values) {
  printf(", \"%s\": [%.9g, %.9g, %.9g]", name, values[0], values[1], values[2]);
}

static void print_checks(const char *name, double ns, const Checks *checks) {
  printf("{\"name\": \"%s\", \"ns\": %.3f, \"checks\": {\"rows\": %llu, \"asked\": %llu", name, ns,
         (unsigned long long)checks->n_rows, (unsigned long long)checks->asked);
  printf(", \"query_rate\": %.6g, \"expected\": %.9g", (double)checks->asked / (double)checks->n_rows,
         checks->expected);
  print_triple("theta", checks->theta);
  print_triple("mean", checks->mean);
  printf("}}\n");
  fflush(stdout);
}

typedef Checks (*Run)(const void *input, const Options *options);

/// Runs `repeat` times and prints the median CPU time of one row.
static void measure(const char *name, Run run, const void *input, const Options *options) {
  double times[101];
  Checks checks = {0};
  for (int k = 0; k < options->repeat; k++) {
    double start = cpu_ns();
    checks = run(input, options);
    times[k] = (cpu_ns() - start) / (double)checks.n_rows;
  }
  print_checks(name, median(times, options->repeat), &checks);
}
