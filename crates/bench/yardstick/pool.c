// pool-reject and pool-scan: rows of 100 features in a pool; labels bought by accept-reject, and one pass over all.

#define POOL_DIM 100
#define POOL_SHARE 0.76
/// Proposals whose rows are fetched before they are needed.
#define QUEUE 16

typedef struct {
  Rows rows;
  double *model;
} Pool;

/// The model's scores have deviation 4; at `share` of it, U/ln 2 is one half on average.
static Pool make_pool(uint64_t n_rows, double share) {
  Pool pool = {make_rows(n_rows, POOL_DIM, POOL_DIM), allocate(POOL_DIM * sizeof(double))};
  for (size_t j = 0; j < POOL_DIM; j++) pool.model[j] = share * model_at(j, POOL_DIM);
  return pool;
}

static void free_pool(Pool *pool) {
  free_rows(&pool->rows);
  free(pool->model);
}

typedef struct {
  uint64_t proposals, labels;
  double theta[POOL_DIM], moment[POOL_DIM], intercept;
} Bought;

INLINE uint64_t proposal_at(uint64_t time, uint64_t n) {
  return (uint64_t)(((unsigned __int128)hash_at(KEY_PROPOSAL, time) * n) >> 64);
}

static void reject_plain(const Pool *pool, const Options *options, Bought *bought) {
  for (uint64_t time = 0; bought->labels < options->labels; time++) {
    uint64_t i = proposal_at(time, pool->rows.n_rows);
    const float *x = pool->rows.values + i * POOL_DIM;
    double v = bought->intercept, y = pool->rows.labels[i];
    for (size_t j = 0; j < POOL_DIM; j++) v += bought->theta[j] * (double)x[j];
    bought->proposals++;
    if (!(LN2 * unit(hash_at(KEY_COIN, time)) < entropy(v))) continue;
    double move = options->step * y / (1.0 + exp(y * v)), late = move * (double)bought->labels;
    for (size_t j = 0; j < POOL_DIM; j++) {
      bought->theta[j] += move * (double)x[j];
      bought->moment[j] += late * (double)x[j];
    }
    bought->intercept += move;
    bought->labels++;
  }
}

INLINE void propose(const Pool *pool, uint64_t *queue, uint64_t time) {
  uint64_t i = proposal_at(time, pool->rows.n_rows);
  const char *row = (const char *)(pool->rows.values + i * POOL_DIM);
  queue[time % QUEUE] = i;
  for (size_t k = 0; k < POOL_DIM * sizeof(float); k += 64) __builtin_prefetch(row + k);
  __builtin_prefetch(row + POOL_DIM * sizeof(float) - 1);
  __builtin_prefetch(pool->rows.labels + i);
}

static void reject_best(const Pool *pool, const Options *options, Bought *bought) {
  uint64_t queue[QUEUE];
  for (uint64_t time = 0; time < QUEUE; time++) propose(pool, queue, time);
  for (uint64_t time = 0; bought->labels < options->labels; time++) {
    uint64_t i = queue[time % QUEUE];
    propose(pool, queue, time + QUEUE);
    const float *x = pool->rows.values + i * POOL_DIM;
    double v = dot(bought->theta, x, POOL_DIM) + bought->intercept;
    bought->proposals++;
    if (!falls_below(bound_of_share, LN2, hash_at(KEY_COIN, time), v)) continue;
    double y = pool->rows.labels[i], move = options->step * y * falling(y * v);
    add_row(bought->theta, bought->moment, x, move, move * (double)bought->labels, POOL_DIM);
    bought->intercept += move;
    bought->labels++;
  }
}

typedef void (*Buy)(const Pool *pool, const Options *options, Bought *bought);

static void measure_reject(const char *kind, Buy buy, const Pool *pool, const Options *options) {
  double times[101];
  static Bought bought;
  for (int k = 0; k < options->repeat; k++) {
    bought = (Bought){0};
    memcpy(bought.theta, pool->model, sizeof bought.theta);
    double start = cpu_ns();
    buy(pool, options, &bought);
    times[k] = (cpu_ns() - start) / (double)options->labels;
  }
  printf("{\"name\": \"pool-reject/%llu/%s\", \"ns\": %.3f, \"checks\": {\"rows\": %llu, \"labels\": %llu",
         (unsigned long long)pool->rows.n_rows, kind, median(times, options->repeat),
         (unsigned long long)pool->rows.n_rows, (unsigned long long)bought.labels);
  printf(", \"proposals\": %llu, \"acceptance\": %.6g", (unsigned long long)bought.proposals,
         (double)bought.labels / (double)bought.proposals);
  print_triple("theta", (double[]){bought.theta[0], bought.theta[1], bought.intercept});
  printf("}}\n");
  fflush(stdout);
}

static void pool_reject(Options options) {
  const uint64_t sizes[] = {10000, 1000000, 10000000};
  if (options.step == 0.0) options.step = 1e-6;
  if (!options.labels) options.labels = 1000000;
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    uint64_t n = options.n_rows ? options.n_rows : sizes[k];
    double free_bytes = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double needed = 1.2 * (double)n * (POOL_DIM * sizeof(float) + 1);
    if (free_bytes < needed) {
      printf("{\"name\": \"pool-reject/%llu\", \"skipped\": \"%.1f GB free, %.1f GB needed\"}\n",
             (unsigned long long)n, free_bytes / 1e9, needed / 1e9);
      continue;
    }
    Pool pool = make_pool(n, POOL_SHARE);
    measure_reject("plain", reject_plain, &pool, &options);
    measure_reject("best", reject_best, &pool, &options);
    free_pool(&pool);
    if (options.n_rows) break;
  }
}

#define SCAN_BLOCK 1024
#define THREADS 2

typedef struct {
  const Pool *pool;
  uint64_t from, to;
  double *sums;  // one a block
  double total;
} Share;

static void *scan_share(void *argument) {
  Share *share = argument;
  double v[SCAN_BLOCK] __attribute__((aligned(32)));
  for (uint64_t first = share->from; first < share->to; first += SCAN_BLOCK) {
    size_t count = share->to - first < SCAN_BLOCK ? share->to - first : SCAN_BLOCK;
    const float *x = share->pool->rows.values + first * POOL_DIM;
    for (size_t i = 0; i < count; i++) {
      // The processor's own prefetching stops at each page.
      for (size_t j = 0; j < POOL_DIM; j += 16) __builtin_prefetch(x + (i * POOL_DIM + j) + 1024);
      v[i] = dot(share->pool->model, x + i * POOL_DIM, POOL_DIM);
    }
    double sum = sum_entropy(v, count);
    share->sums[first / SCAN_BLOCK] = sum;
    share->total += sum;
  }
  return NULL;
}

typedef float EightSingle __attribute__((vector_size(32), aligned(4), may_alias));

static void *read_share(void *argument) {
  Share *share = argument;
  const float *x = share->pool->rows.values;
  EightSingle a = {0}, b = {0}, c = {0}, d = {0};
  size_t end = share->to * POOL_DIM;
  for (size_t k = share->from * POOL_DIM; k + 32 <= end; k += 32) {
    __builtin_prefetch(x + k + 1024);
    __builtin_prefetch(x + k + 1040);
    a += *(const EightSingle *)(x + k);
    b += *(const EightSingle *)(x + k + 8);
    c += *(const EightSingle *)(x + k + 16);
    d += *(const EightSingle *)(x + k + 24);
  }
  EightSingle sum = (a + b) + (c + d);
  for (int k = 0; k < 8; k++) share->total += (double)sum[k];
  return NULL;
}

static double in_threads(void *(*work)(void *), const Pool *pool, double *sums) {
  pthread_t threads[THREADS];
  Share shares[THREADS];
  uint64_t n = pool->rows.n_rows, blocks = (n + SCAN_BLOCK - 1) / SCAN_BLOCK;
  double total = 0.0;
  for (uint64_t k = 0; k < THREADS; k++) {
    uint64_t from = blocks * k / THREADS * SCAN_BLOCK, to = blocks * (k + 1) / THREADS * SCAN_BLOCK;
    shares[k] = (Share){pool, from, to < n ? to : n, sums, 0.0};
    if (pthread_create(threads + k, NULL, work, shares + k)) fail("no thread to be had");
  }
  for (int k = 0; k < THREADS; k++) {
    pthread_join(threads[k], NULL);
    total += shares[k].total;
  }
  return total;
}

static void measure_scan(const char *name, void *(*work)(void *), const Pool *pool, int repeat) {
  double cpu[101], wall[101], total = 0.0, n = (double)pool->rows.n_rows;
  double *sums = allocate((pool->rows.n_rows / SCAN_BLOCK + 1) * sizeof *sums);
  for (int k = 0; k < repeat; k++) {
    double start = cpu_ns(), wall_start = wall_ns();
    total = in_threads(work, pool, sums);
    cpu[k] = (cpu_ns() - start) / n;
    wall[k] = (wall_ns() - wall_start) / 1e6;
  }
  // `median` leaves the times in order. The least is the scan that nobody else disturbed.
  double ms = median(wall, repeat), least = wall[0];
  printf("{\"name\": \"%s\", \"ns\": %.3f, \"ms\": %.3f, \"least_ms\": %.3f, \"gigabytes_a_second\": %.2f, ", name,
         median(cpu, repeat), ms, least, n * POOL_DIM * sizeof(float) / least / 1e6);
  printf("\"checks\": {\"rows\": %.0f, \"total\": %.9g, \"mean\": %.9g}}\n", n, total, total / n);
  fflush(stdout);
  free(sums);
}

static void pool_scan(Options options) {
  Pool pool = make_pool(options.n_rows ? options.n_rows : 1000000, POOL_SHARE);
  int repeat = options.repeat < 9 ? 9 : options.repeat;
  measure_scan("pool-scan/best", scan_share, &pool, repeat);
  measure_scan("pool-scan/read", read_share, &pool, repeat);
  free_pool(&pool);
}
