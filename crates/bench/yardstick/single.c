// stream-mixture with features in single precision: the same rows to seven digits, made eight at a time.

typedef float Eight __attribute__((vector_size(32)));
typedef uint32_t EightBits __attribute__((vector_size(32)));
typedef int32_t EightMask __attribute__((vector_size(32)));

INLINE Eight all_single(float x) { return (Eight){x, x, x, x, x, x, x, x}; }
INLINE EightBits all_short(uint32_t x) { return (EightBits){x, x, x, x, x, x, x, x}; }
INLINE Eight choose_single(EightMask mask, Eight yes, Eight no) {
  return (Eight)(((EightBits)mask & (EightBits)yes) | (~(EightBits)mask & (EightBits)no));
}

INLINE Eight root_single(Eight x) {
#ifdef __AVX__
  return (Eight)_mm256_sqrt_ps((__m256)x);
#else
  for (int k = 0; k < 8; k++) x[k] = sqrtf(x[k]);
  return x;
#endif
}

/// ½ √(−2 ln u) with u the bits as a fraction.
INLINE Eight radius_single(EightBits bits) {
  Eight u = (__builtin_convertvector((EightMask)(bits >> 1), Eight) + 0.5f) * 0x1p-31f;
  EightBits moved = (EightBits)u - all_short(0x3f3504f3);
  EightMask exponent = (EightMask)moved >> 23;
  Eight mantissa = (Eight)((EightBits)u - ((EightBits)exponent << 23));
  Eight z = (mantissa - 1.0f) / (mantissa + 1.0f), s = z * z;
  Eight log = z * ((2.0f + s * (2.0f / 3)) + s * s * (2.0f / 5 + s * (2.0f / 7)));
  log += __builtin_convertvector(exponent, Eight) * 0.693147181f;
  log *= -0.5f;
  // u may round to one, and its logarithm to a little above zero.
  return root_single(choose_single(all_single(0.0f) < log, log, all_single(0.0f)));
}

/// Sine and cosine of 2π times the bits as a fraction.
INLINE void sine_cosine_single(EightBits bits, Eight *sine, Eight *cosine) {
  EightBits turned = bits + all_short(1u << 29), quarter = turned >> 30;
  EightMask rest = (EightMask)(turned & all_short((1u << 30) - 1)) - (EightMask)all_short(1u << 29);
  Eight r = __builtin_convertvector(rest, Eight) * (float)(1.57079632679489661923 * 0x1p-30), s = r * r;
  Eight a = r + r * s * (-1.0f / 6 + s * (1.0f / 120 + s * (-1.0f / 5040)));
  Eight b = (1.0f - 0.5f * s) + s * s * (1.0f / 24 + s * (-1.0f / 720 + s * (1.0f / 40320)));
  EightMask swap = -(EightMask)(quarter & all_short(1));
  EightBits sine_sign = (quarter & all_short(2)) << 30;
  EightBits cosine_sign = ((quarter + all_short(1)) & all_short(2)) << 30;
  *sine = (Eight)((EightBits)choose_single(swap, b, a) ^ sine_sign);
  *cosine = (Eight)((EightBits)choose_single(swap, a, b) ^ cosine_sign);
}

typedef struct {
  uint32_t high[BLOCK], low[BLOCK], component[BLOCK];
  float radius[BLOCK], x0[BLOCK], x1[BLOCK], y[BLOCK];
} __attribute__((aligned(32))) SingleBlock;

INLINE void hash_eight(SingleBlock *rows, uint64_t time, size_t i) {
  EightBits left = (EightBits)hashes_at(KEY_DATA, time + i), right = (EightBits)hashes_at(KEY_DATA, time + i + 4);
  EightBits pairs = (EightBits)hashes_at(KEY_COMPONENT, (time + i) >> 1);
  *(EightBits *)(rows->high + i) = __builtin_shuffle(left, right, (EightBits){1, 3, 5, 7, 9, 11, 13, 15});
  *(EightBits *)(rows->low + i) = __builtin_shuffle(left, right, (EightBits){0, 2, 4, 6, 8, 10, 12, 14});
  *(EightBits *)(rows->component + i) = __builtin_shuffle(pairs, (EightBits){1, 0, 3, 2, 5, 4, 7, 6});
}

INLINE void make_eight(SingleBlock *rows, size_t i) {
  Eight radius = *(Eight *)(rows->radius + i), sine, cosine;
  sine_cosine_single(*(EightBits *)(rows->low + i), &sine, &cosine);
  // Signed comparison is one instruction, so the bits are moved down by half their range.
  EightMask u = (EightMask)(*(EightBits *)(rows->component + i) ^ all_short(0x80000000u));
  EightMask across = u < 0;
  EightMask second = across ^ (u < (int32_t)(-0.3 * 0x1p32)) ^ ~(u < (int32_t)(0.4 * 0x1p32));
  Eight side = choose_single(second, all_single(2.0f), all_single(-2.0f));
  *(Eight *)(rows->x0 + i) = choose_single(across, side, all_single(0.0f)) + radius * cosine;
  *(Eight *)(rows->x1 + i) = choose_single(across, all_single(0.0f), side) + radius * sine;
  *(Eight *)(rows->y + i) = choose_single(across, all_single(1.0f), all_single(-1.0f));
}

/// Short loops, for the same reason as in `make_block`.
static void make_block_single(MixtureBlock *rows, uint64_t time) {
  static SingleBlock single;
  fill_coins(rows->coins, time, BLOCK);
  for (size_t i = 0; i < BLOCK; i += 8) hash_eight(&single, time, i);
  for (size_t i = 0; i < BLOCK; i += 8) *(Eight *)(single.radius + i) = radius_single(*(EightBits *)(single.high + i));
  for (size_t i = 0; i < BLOCK; i += 8) make_eight(&single, i);
  for (size_t i = 0; i < BLOCK; i += 4) {
    *(Four *)(rows->x0 + i) = widen(single.x0 + i);
    *(Four *)(rows->x1 + i) = widen(single.x1 + i);
    *(Four *)(rows->y + i) = widen(single.y + i);
  }
}

INLINE Checks run_mixture(const Options *options, void (*make)(MixtureBlock *rows, uint64_t time)) {
  static MixtureBlock rows;
  MixtureLearner learner = {.step = options->step};
  double expected = 0;
  uint64_t n = options->n_rows;
  for (uint64_t time = 0; time < n; time += BLOCK) {
    size_t count = n - time < BLOCK ? n - time : BLOCK;
    make(&rows, time);
    if (count < BLOCK || !learn_block(&learner, &rows, time)) learn_in_turn(&learner, &rows, time, count);
    expected += sum_entropy(rows.v, count);
  }
  return mixture_checks(&learner, n, expected);
}

static Checks mixture_best(const void *input, const Options *options) {
  (void)input;
  return run_mixture(options, make_block);
}

static Checks mixture_single(const void *input, const Options *options) {
  (void)input;
  return run_mixture(options, make_block_single);
}

static void stream_mixture(Options options) {
  if (!options.n_rows) options.n_rows = 10000000;
  if (options.step == 0.0) options.step = 1e-4;
  measure("stream-mixture/plain", mixture_plain, NULL, &options);
  measure("stream-mixture/best", mixture_best, NULL, &options);
  measure("stream-mixture/single", mixture_single, NULL, &options);
}
