// stream-memory: Algorithm 1 over rows that lie in memory and do not fit the cache.

typedef struct {
  double *theta, *moment;  // moment: Σ t·(step at t), from which the mean of all theta follows
  double intercept, late, expected, step;
  uint64_t asked, time;
  size_t dim;
} Learner;

static Learner new_learner(size_t dim, double step) {
  Learner learner = {.dim = dim, .step = step};
  learner.theta = allocate(dim * sizeof(double));
  learner.moment = allocate(dim * sizeof(double));
  memset(learner.theta, 0, dim * sizeof(double));
  memset(learner.moment, 0, dim * sizeof(double));
  return learner;
}

static Checks finish(Learner *learner) {
  double n = (double)learner->time;
  Checks checks = {learner->time, learner->asked, learner->expected, {0}, {0}};
  for (size_t j = 0; j < 2 && j < learner->dim; j++) {
    checks.theta[j] = learner->theta[j];
    checks.mean[j] = learner->theta[j] - learner->moment[j] / n;
  }
  checks.theta[2] = learner->intercept;
  checks.mean[2] = learner->intercept - learner->late / n;
  free(learner->theta);
  free(learner->moment);
  return checks;
}

/// The step of an asked row on the intercept; gives the move of the weights.
INLINE double answer(Learner *learner, uint64_t time, double y, double slope, double *late) {
  double move = learner->step * y * slope;
  *late = move * (double)(time + 1);
  learner->intercept += move;
  learner->late += *late;
  learner->asked++;
  return move;
}

/// One row, as one writes it first; `columns` is null for dense rows.
static void learn_plainly(Learner *learner, const uint32_t *columns, const float *x, size_t width, double y) {
  double v = learner->intercept, late;
  for (size_t j = 0; j < width; j++) v += learner->theta[columns ? columns[j] : j] * (double)x[j];
  double uncertainty = entropy(v);
  learner->expected += uncertainty;
  if (unit(hash_at(KEY_COIN, learner->time)) < uncertainty) {
    double move = answer(learner, learner->time, y, 1.0 / (1.0 + exp(y * v)), &late);
    for (size_t j = 0; j < width; j++) {
      learner->theta[columns ? columns[j] : j] += move * (double)x[j];
      learner->moment[columns ? columns[j] : j] += late * (double)x[j];
    }
  }
  learner->time++;
}

static Checks memory_plain(const void *input, const Options *options) {
  const Rows *rows = input;
  Learner learner = new_learner(rows->dim, options->step);
  for (uint64_t i = 0; i < rows->n_rows; i++) {
    uint64_t start = rows->columns ? rows->starts[i] : i * rows->width;
    const uint32_t *columns = rows->columns ? rows->columns + start : NULL;
    learn_plainly(&learner, columns, rows->values + start, rows->width, rows->labels[i]);
  }
  return finish(&learner);
}

/// Two features: as in the mixture, by candidates.
static Checks plane_best(const void *input, const Options *options) {
  const Rows *rows = input;
  static MixtureBlock block;
  MixtureLearner learner = {.step = options->step};
  double expected = 0;
  for (uint64_t time = 0; time < rows->n_rows; time += BLOCK) {
    size_t count = rows->n_rows - time < BLOCK ? rows->n_rows - time : BLOCK;
    fill_coins(block.coins, time, BLOCK);
    for (size_t i = 0; i < count; i++) {
      block.x0[i] = (double)rows->values[2 * (time + i)];
      block.x1[i] = (double)rows->values[2 * (time + i) + 1];
      block.y[i] = (double)rows->labels[time + i];
    }
    if (count < BLOCK || !learn_block(&learner, &block, time)) learn_in_turn(&learner, &block, time, count);
    expected += sum_entropy(block.v, count);
  }
  return mixture_checks(&learner, rows->n_rows, expected);
}

/// `dim` is a constant where this is inlined, so that the loops over a row are unrolled.
INLINE Checks dense_best(const Rows *rows, const Options *options, size_t dim) {
  Learner learner = new_learner(dim, options->step);
  static uint64_t coins[BLOCK] __attribute__((aligned(32)));
  static double v[BLOCK] __attribute__((aligned(32)));
  uint64_t n = rows->n_rows;
  for (uint64_t time = 0; time < n; time += BLOCK) {
    size_t count = n - time < BLOCK ? n - time : BLOCK;
    fill_coins(coins, time, BLOCK);
    for (size_t i = 0; i < count; i++) {
      const float *x = rows->values + (time + i) * dim;
      // Two kilobytes ahead: the processor's own prefetching stops at each page.
      for (size_t j = 0; j < dim; j += 16) __builtin_prefetch(x + 512 + j);
      v[i] = dot(learner.theta, x, dim) + learner.intercept;
      if (!asks(coins[i], v[i])) continue;
      double y = rows->labels[time + i], late;
      double move = answer(&learner, time + i, y, falling(y * v[i]), &late);
      add_row(learner.theta, learner.moment, x, move, late, dim);
    }
    learner.expected += sum_entropy(v, count);
  }
  learner.time = n;
  return finish(&learner);
}

static Checks dense_30(const void *rows, const Options *options) { return dense_best(rows, options, 30); }
static Checks dense_100(const void *rows, const Options *options) { return dense_best(rows, options, 100); }
static Checks dense_784(const void *rows, const Options *options) { return dense_best(rows, options, 784); }

INLINE double sparse_dot(const double *theta, const uint32_t *columns, const float *x, size_t width) {
  double a = 0, b = 0, c = 0, d = 0;
  size_t j = 0;
  for (; j + 4 <= width; j += 4) {
    a += theta[columns[j]] * (double)x[j];
    b += theta[columns[j + 1]] * (double)x[j + 1];
    c += theta[columns[j + 2]] * (double)x[j + 2];
    d += theta[columns[j + 3]] * (double)x[j + 3];
  }
  for (; j < width; j++) a += theta[columns[j]] * (double)x[j];
  return (a + b) + (c + d);
}

INLINE void sparse_add(Learner *learner, const uint32_t *columns, const float *x, size_t width, double move,
                       double late) {
  for (size_t j = 0; j < width; j++) {
    learner->theta[columns[j]] += move * (double)x[j];
    learner->moment[columns[j]] += late * (double)x[j];
  }
}

/// How many rows ahead the weights are fetched.
#define AHEAD 4

/// A weight beside its moment: with a million of them, one miss of the cache instead of two.
typedef struct {
  double theta, moment;
} Pair;

INLINE double pair_dot(const Pair *pairs, const uint32_t *columns, const float *x, size_t width) {
  double a = 0, b = 0;
  size_t j = 0;
  for (; j + 2 <= width; j += 2) {
    a += pairs[columns[j]].theta * (double)x[j];
    b += pairs[columns[j + 1]].theta * (double)x[j + 1];
  }
  for (; j < width; j++) a += pairs[columns[j]].theta * (double)x[j];
  return a + b;
}

INLINE void pair_add(Pair *pairs, const uint32_t *columns, const float *x, size_t width, double move, double late) {
  for (size_t j = 0; j < width; j++) {
    Pair *pair = pairs + columns[j];
    pair->theta += move * (double)x[j];
    pair->moment += late * (double)x[j];
  }
}

/// `pairs` is null where the weights fit the cache.
INLINE Checks sparse_run(const Rows *rows, const Options *options, Pair *pairs) {
  Learner learner = new_learner(rows->dim, options->step);
  static uint64_t coins[BLOCK] __attribute__((aligned(32)));
  static double v[BLOCK] __attribute__((aligned(32)));
  uint64_t n = rows->n_rows;
  for (uint64_t time = 0; time < n; time += BLOCK) {
    size_t count = n - time < BLOCK ? n - time : BLOCK;
    fill_coins(coins, time, BLOCK);
    for (size_t i = 0; i < count; i++) {
      uint64_t start = rows->starts[time + i], width = rows->starts[time + i + 1] - start;
      const uint32_t *columns = rows->columns + start;
      const float *x = rows->values + start;
      if (pairs && time + i + AHEAD < n) {
        uint64_t stop = rows->starts[time + i + AHEAD + 1];
        for (uint64_t k = rows->starts[time + i + AHEAD]; k < stop; k++) __builtin_prefetch(pairs + rows->columns[k]);
      }
      v[i] = learner.intercept;
      v[i] += pairs ? pair_dot(pairs, columns, x, width) : sparse_dot(learner.theta, columns, x, width);
      if (!asks(coins[i], v[i])) continue;
      double y = rows->labels[time + i], late;
      double move = answer(&learner, time + i, y, falling(y * v[i]), &late);
      if (pairs) pair_add(pairs, columns, x, width, move, late);
      else sparse_add(&learner, columns, x, width, move, late);
    }
    learner.expected += sum_entropy(v, count);
  }
  learner.time = n;
  for (size_t j = 0; pairs && j < 2; j++) learner.theta[j] = pairs[j].theta, learner.moment[j] = pairs[j].moment;
  return finish(&learner);
}

static Checks sparse_best(const void *input, const Options *options) { return sparse_run(input, options, NULL); }

static Checks sparse_large_best(const void *input, const Options *options) {
  const Rows *rows = input;
  Pair *pairs = allocate(rows->dim * sizeof *pairs);
  memset(pairs, 0, rows->dim * sizeof *pairs);
  Checks checks = sparse_run(rows, options, pairs);
  free(pairs);
  return checks;
}

static const struct {
  size_t width, dim;
  double step;
  const char *name;
  Run best;
} memory_cases[] = {
    {2, 2, 1e-4, "dense-2", plane_best},          {30, 30, 3e-3, "dense-30", dense_30},
    {100, 100, 1e-3, "dense-100", dense_100},     {784, 784, 1e-3, "dense-784", dense_784},
    {50, 10000, 1e-1, "sparse-50-of-1e4", sparse_best}, {50, 1000000, 1e-1, "sparse-50-of-1e6", sparse_large_best},
};

/// `only` names one case; null for all.
static void stream_memory(Options options, const char *only) {
  double step = options.step;
  uint64_t n_rows = options.n_rows;
  for (size_t k = 0; k < sizeof memory_cases / sizeof *memory_cases; k++) {
    if (only && strcmp(only, memory_cases[k].name)) continue;
    size_t width = memory_cases[k].width, dim = memory_cases[k].dim;
    uint64_t n = n_rows ? n_rows : 400000000 / (width * (width < dim ? 8 : 4));
    Rows rows = make_rows(n, width, dim);
    options.step = step == 0.0 ? memory_cases[k].step : step;
    char name[64];
    snprintf(name, sizeof name, "stream-memory/%s/plain", memory_cases[k].name);
    measure(name, memory_plain, &rows, &options);
    snprintf(name, sizeof name, "stream-memory/%s/best", memory_cases[k].name);
    measure(name, memory_cases[k].best, &rows, &options);
    free_rows(&rows);
  }
}
