// stream-mixture: observations made on the fly from four Gaussians in the plane, and learned at once.

static const double centers[4][2] = {{-2, 0}, {2, 0}, {0, -2}, {0, 2}};
static const double labels[4] = {1, 1, -1, -1};

INLINE uint32_t component_bits(uint64_t time) {
  uint64_t hash = hash_at(KEY_COMPONENT, time >> 1);
  return (uint32_t)(time & 1 ? hash : hash >> 32);
}

/// One hash makes two normals of deviation ½; half a hash the component.
static Checks mixture_plain(const void *input, const Options *options) {
  (void)input;
  double w0 = 0, w1 = 0, b = 0, m0 = 0, m1 = 0, mb = 0, expected = 0;
  uint64_t asked = 0, n = options->n_rows;
  for (uint64_t time = 0; time < n; time++) {
    uint64_t hash = hash_at(KEY_DATA, time);
    double radius = 0.5 * sqrt(-2.0 * log(unit_half((uint32_t)(hash >> 32))));
    double angle = 6.283185307179586 * unit_half((uint32_t)hash);
    double u = unit_half(component_bits(time));
    int k = u < 0.5 ? (u < 0.2 ? 0 : 1) : (u < 0.9 ? 2 : 3);
    double x0 = centers[k][0] + radius * cos(angle), x1 = centers[k][1] + radius * sin(angle);
    double v = w0 * x0 + w1 * x1 + b;
    double uncertainty = entropy(v);
    expected += uncertainty;
    m0 += w0, m1 += w1, mb += b;
    if (unit(hash_at(KEY_COIN, time)) < uncertainty) {
      double y = labels[k], move = options->step * y / (1.0 + exp(y * v));
      w0 += move * x0, w1 += move * x1, b += move;
      asked++;
    }
  }
  return (Checks){n, asked, expected, {w0, w1, b}, {m0 / (double)n, m1 / (double)n, mb / (double)n}};
}

typedef struct {
  double x0[BLOCK], x1[BLOCK], y[BLOCK], v[BLOCK], u[BLOCK];
  uint64_t hashes[BLOCK], coins[BLOCK];
} __attribute__((aligned(32))) MixtureBlock;

INLINE void make_radius(MixtureBlock *rows, size_t i) {
  *(Four *)(rows->v + i) = root(-0.5 * log_four(high_units(*(Bits *)(rows->hashes + i))));
}

INLINE void make_four(MixtureBlock *rows, size_t i) {
  Four radius = *(Four *)(rows->v + i), sine, cosine;
  sine_cosine(high_units(*(Bits *)(rows->hashes + i) << 32), &sine, &cosine);
  Four u = *(Four *)(rows->u + i);
  Mask across = u < all(0.5), second = across ^ (u < all(0.2)) ^ ~(u < all(0.9));
  Four side = choose(second, all(2.0), all(-2.0));
  *(Four *)(rows->x0 + i) = choose(across, side, all(0.0)) + radius * cosine;
  *(Four *)(rows->x1 + i) = choose(across, all(0.0), side) + radius * sine;
  *(Four *)(rows->y + i) = choose(across, all(1.0), all(-1.0));
}

/// Short loops one after the other: a long one would leave the processor waiting for its chain of operations.
static void make_block(MixtureBlock *rows, uint64_t time) {
  fill_coins(rows->coins, time, BLOCK);
  for (size_t i = 0; i < BLOCK; i += 4) *(Bits *)(rows->hashes + i) = hashes_at(KEY_DATA, time + i);
  for (size_t i = 0; i < BLOCK; i += 8) {
    Bits pairs = hashes_at(KEY_COMPONENT, (time + i) >> 1);
    Four even = high_units(pairs), odd = high_units(pairs << 32);
    *(Four *)(rows->u + i) = __builtin_shuffle(even, odd, (Mask){0, 4, 1, 5});
    *(Four *)(rows->u + i + 4) = __builtin_shuffle(even, odd, (Mask){2, 6, 3, 7});
  }
  for (size_t i = 0; i < BLOCK; i += 8) make_radius(rows, i), make_radius(rows, i + 4);
  for (size_t i = 0; i < BLOCK; i += 8) make_four(rows, i), make_four(rows, i + 4);
}

typedef struct {
  double w0, w1, b, pad;
} __attribute__((aligned(32), may_alias)) Theta;

typedef struct {
  Theta theta, moment;  // moment: Σ t·(step at t), from which the mean of all theta follows
  double step;
  uint64_t asked;
} MixtureLearner;

/// Every row in turn, exact whatever the step.
static void learn_in_turn(MixtureLearner *learner, MixtureBlock *rows, uint64_t time, size_t count) {
  Theta theta = learner->theta, moment = learner->moment;
  for (size_t i = 0; i < count; i++) {
    double v = theta.w0 * rows->x0[i] + (theta.w1 * rows->x1[i] + theta.b);
    rows->v[i] = v;
    if (!asks(rows->coins[i], v)) continue;
    double y = rows->y[i], move = learner->step * y * falling(y * v);
    double x0 = move * rows->x0[i], x1 = move * rows->x1[i], at = (double)(time + i + 1);
    theta.w0 += x0, theta.w1 += x1, theta.b += move;
    moment.w0 += at * x0, moment.w1 += at * x1, moment.b += at * move;
    learner->asked++;
  }
  learner->theta = theta, learner->moment = moment;
}

#define DRIFT 0.03

typedef uint64_t Word __attribute__((aligned(2), may_alias));

typedef struct {
  double edges[BLOCK];
  Theta history[BLOCK + 1];                         // theta after each candidate
  uint16_t candidates[BLOCK + 4], ranks[BLOCK + 4]; // rank: candidates before the row
} __attribute__((aligned(32))) Candidates;

/// Of four marks: the places of those that are set, and how many are set before each, as four 16-bit numbers.
static uint64_t marked_places[16], marks_before[16];

static void make_marks(void) {
  for (unsigned marks = 0; marks < 16; marks++) {
    uint64_t places = 0, before = 0;
    for (unsigned i = 0, n = 0; i < 4; i++) {
      before |= (uint64_t)n << (16 * i);
      if (marks >> i & 1) places |= (uint64_t)i << (16 * n++);
    }
    marked_places[marks] = places;
    marks_before[marks] = before;
  }
}

INLINE unsigned marks_of(Mask mask) {
#ifdef __AVX__
  return (unsigned)_mm256_movemask_pd((__m256d)mask);
#else
  return (unsigned)((mask[0] & 1) | (mask[1] & 2) | (mask[2] & 4) | (mask[3] & 8));
#endif
}

/// Rows that may ask, judged by the theta of the block's start and a margin for its drift; without a branch.
INLINE size_t find_candidates(const Theta *theta, MixtureBlock *rows, Candidates *found) {
  const uint64_t ones = 0x0001000100010001ull;
  Four w0 = all(theta->w0), w1 = all(theta->w1), b = all(theta->b);
  size_t n = 0;
  for (size_t i = 0; i < BLOCK; i += 4) {
    const uint64_t *coins = rows->coins + i;
    Four edge = {bound[coins[0] >> 54], bound[coins[1] >> 54], bound[coins[2] >> 54], bound[coins[3] >> 54]};
    Four v = w0 * *(Four *)(rows->x0 + i) + (w1 * *(Four *)(rows->x1 + i) + b);
    Mask mask = absolute(v) <= edge + DRIFT;
    unsigned marks = marks_of(mask);
    *(Four *)(rows->v + i) = v;
    *(Four *)(found->edges + i) = choose(mask, all(-1.0), edge);
    *(Word *)(found->candidates + n) = marked_places[marks] + i * ones;
    *(Word *)(found->ranks + i) = marks_before[marks] + n * ones;
    n += (size_t)__builtin_popcount(marks);
  }
  return n;
}

/// The scores of all rows by the theta of their time; whether a row that was no candidate should have been one.
INLINE int score_all(MixtureBlock *rows, const Candidates *found) {
  Mask missed = {0};
  for (size_t i = 0; i < BLOCK; i += 4) {
    const uint16_t *rank = found->ranks + i;
    Four a = *(const Four *)(found->history + rank[0]), b = *(const Four *)(found->history + rank[1]);
    Four c = *(const Four *)(found->history + rank[2]), d = *(const Four *)(found->history + rank[3]);
    Four even_low = __builtin_shuffle(a, b, (Mask){0, 4, 2, 6}), odd_low = __builtin_shuffle(a, b, (Mask){1, 5, 3, 7});
    Four even_high = __builtin_shuffle(c, d, (Mask){0, 4, 2, 6});
    Four odd_high = __builtin_shuffle(c, d, (Mask){1, 5, 3, 7});
    Four w0 = __builtin_shuffle(even_low, even_high, (Mask){0, 1, 4, 5});
    Four w1 = __builtin_shuffle(odd_low, odd_high, (Mask){0, 1, 4, 5});
    Four intercept = __builtin_shuffle(even_low, even_high, (Mask){2, 3, 6, 7});
    Four v = w0 * *(Four *)(rows->x0 + i) + (w1 * *(Four *)(rows->x1 + i) + intercept);
    *(Four *)(rows->v + i) = v;
    missed |= absolute(v) <= *(const Four *)(found->edges + i);
  }
  return marks_of(missed) != 0;
}

/// A whole block: the candidates in turn, then the scores of all rows. Gives up, and changes nothing, if a row that was
/// no candidate should have been.
static int learn_block(MixtureLearner *learner, MixtureBlock *rows, uint64_t time) {
  static Candidates found;
  Theta theta = learner->theta, moment = learner->moment;
  uint64_t asked = learner->asked;
  double step = learner->step;
  size_t n = find_candidates(&theta, rows, &found);
  found.history[0] = theta;
  for (size_t k = 0; k < n; k++) {
    size_t i = found.candidates[k];
    double y = rows->y[i], x0 = y * rows->x0[i], x1 = y * rows->x1[i];
    // The cell is that of the old score: the chain from theta to theta is then a few multiplications long.
    double place = (y * rows->v[i] + SLOPE_REACH) * SLOPE_CELLS_A_UNIT;
    if (!(0.0 <= place && place < 2.0 * SLOPE_REACH * SLOPE_CELLS_A_UNIT)) return 0;
    int cell = (int)place;
    double middle = (cell + 0.5) * (1.0 / SLOPE_CELLS_A_UNIT) - SLOPE_REACH;
    double s = theta.w0 * x0 + (theta.w1 * x1 + theta.b * y);
    if (asks(rows->coins[i], s)) {
      const double *c = slope_cell[cell];
      double r = s - middle, f = (c[0] + r * c[1]) + r * r * (c[2] + r * c[3]);
      x0 *= step, x1 *= step, y *= step;
      theta.w0 += f * x0, theta.w1 += f * x1, theta.b += f * y;
      double at = f * (double)(time + i + 1);
      moment.w0 += at * x0, moment.w1 += at * x1, moment.b += at * y;
      asked++;
    }
    found.history[k + 1] = theta;
  }
  if (score_all(rows, &found)) return 0;
  learner->theta = theta, learner->moment = moment, learner->asked = asked;
  return 1;
}

static Checks mixture_checks(const MixtureLearner *learner, uint64_t n, double expected) {
  Theta theta = learner->theta, moment = learner->moment;
  double scale = 1.0 / (double)n;
  return (Checks){n, learner->asked, expected, {theta.w0, theta.w1, theta.b},
                  {theta.w0 - scale * moment.w0, theta.w1 - scale * moment.w1, theta.b - scale * moment.b}};
}
