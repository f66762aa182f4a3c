// Four numbers at a time: exponential, logarithm, sine, entropy; and the two tables a decision needs.
//
// Written with the vector types of GCC and Clang, so a machine without AVX2 runs the same code, slower. All polynomials
// are good to 1e-11 or better, so the same rows ask as in the plain loops.

typedef double Four __attribute__((vector_size(32)));
typedef uint64_t Bits __attribute__((vector_size(32)));
typedef int64_t Mask __attribute__((vector_size(32)));
typedef float FourSingle __attribute__((vector_size(16), aligned(4), may_alias));
typedef double FourLoose __attribute__((vector_size(32), aligned(8), may_alias));

#define BLOCK 512

INLINE Four all(double x) { return (Four){x, x, x, x}; }
INLINE Bits all_bits(uint64_t x) { return (Bits){x, x, x, x}; }
INLINE Four choose(Mask mask, Four yes, Four no) {
  return (Four)(((Bits)mask & (Bits)yes) | (~(Bits)mask & (Bits)no));
}
INLINE Four absolute(Four x) { return (Four)((Bits)x & all_bits(0x7fffffffffffffffull)); }
INLINE double sum_of(Four x) { return (x[0] + x[2]) + (x[1] + x[3]); }
INLINE Four widen(const float *x) { return __builtin_convertvector(*(const FourSingle *)x, Four); }

/// `hash_at` for the four times from `time`.
INLINE Bits hashes_at(uint64_t key, uint64_t time) {
  Bits z = all_bits(key + (time + 1) * GOLDEN) + (Bits){0, GOLDEN, 2 * GOLDEN, 3 * GOLDEN};
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// The upper 32 bits as a number in (0, 1), as `unit_half`.
INLINE Four high_units(Bits hash) {
  // The bits are put below those of 2^52, whose last place is one.
  Four whole = (Four)((hash >> 32) | all_bits(0x4330000000000000ull)) - all(0x1p52);
  return (whole + 0.5) * 0x1p-32;
}

/// eˣ for −700 ≤ x ≤ 0.
INLINE Four exp_four(Four x) {
  const double shift = 0x1.8p52;
  Four whole = x * 1.4426950408889634 + shift;
  Bits power = (Bits)whole;
  whole -= shift;
  Four r = x - whole * LN2;
  Four r2 = r * r, r4 = r2 * r2;
  Four low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6));
  Four middle = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
  Four value = low + r4 * (middle + r4 * (1.0 / 40320 + r * (1.0 / 362880)));
  return (Four)((Bits)value + (power << 52));
}

/// 2 artanh z for |z| ≤ 0.172, which is ln((1 + z)/(1 − z)).
INLINE Four log_ratio(Four z) {
  Four s = z * z, s2 = s * s;
  Four low = (2.0 + s * (2.0 / 3)) + s2 * (2.0 / 5 + s * (2.0 / 7));
  return z * (low + s2 * s2 * ((2.0 / 9 + s * (2.0 / 11)) + s2 * (2.0 / 13)));
}

/// ln x for a normal x > 0.
INLINE Four log_four(Four x) {
  // Subtracting the bits of √½ first leaves the mantissa in [√½, √2).
  Bits moved = (Bits)x - all_bits(0x3fe6a09e667f3bcdull);
  Bits exponent = (Bits)((Mask)moved >> 52);
  Four mantissa = (Four)((Bits)x - (exponent << 52));
  Four power = (Four)(exponent + all_bits(0x4338000000000000ull)) - 0x1.8p52;
  return power * LN2 + log_ratio((mantissa - 1.0) / (mantissa + 1.0));
}

/// sin 2πu and cos 2πu for 0 ≤ u < 1.
INLINE void sine_cosine(Four u, Four *sine, Four *cosine) {
  const double shift = 0x1.8p52;
  Four whole = u * 4.0 + shift;
  Bits quarter = (Bits)whole;
  Four r = (u * 4.0 - (whole - shift)) * 1.57079632679489661923;
  Four s = r * r, s2 = s * s;
  Four odd = (-1.0 / 6 + s * (1.0 / 120)) + s2 * ((-1.0 / 5040 + s * (1.0 / 362880)) + s2 * (-1.0 / 39916800));
  Four even = (1.0 / 24 + s * (-1.0 / 720)) + s2 * ((1.0 / 40320 + s * (-1.0 / 3628800)) + s2 * (1.0 / 479001600));
  Four a = r + r * s * odd, b = (1.0 - 0.5 * s) + s2 * even;
  Mask swap = -(Mask)(quarter & all_bits(1));
  Bits sine_sign = (quarter & all_bits(2)) << 62;
  Bits cosine_sign = ((quarter + all_bits(1)) & all_bits(2)) << 62;
  *sine = (Four)((Bits)choose(swap, b, a) ^ sine_sign);
  *cosine = (Four)((Bits)choose(swap, a, b) ^ cosine_sign);
}

INLINE Four root(Four x) {
#ifdef __AVX__
  return (Four)_mm256_sqrt_pd((__m256d)x);
#else
  return (Four){sqrt(x[0]), sqrt(x[1]), sqrt(x[2]), sqrt(x[3])};
#endif
}

/// U(v) = ln(1 + e) + |v| e/(1 + e) with e = exp(−|v|), in nats.
INLINE Four entropy_four(Four v) {
  Four size = absolute(v);
  size = choose(size < all(700.0), size, all(700.0));
  Four e = exp_four(-size);
  // Above √2, half of 1 + e is taken, so that the series stays short.
  Mask large = all(0.41421356237309505) < e;
  Four top = e - choose(large, all(1.0), all(0.0));
  Four bottom = e + choose(large, all(3.0), all(2.0));
  Four share = 1.0 / (bottom * (1.0 + e));
  Four log = log_ratio(top * (1.0 + e) * share) + choose(large, all(LN2), all(0.0));
  return log + size * e * (bottom * share);
}

/// The sum of U over `n` scores; `scores` has room for a multiple of four.
static double sum_entropy(double *scores, size_t n) {
  for (size_t i = n; i % 4; i++) scores[i] = INFINITY;
  Four total = all(0.0), other = all(0.0);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    total += entropy_four(*(Four *)(scores + i));
    other += entropy_four(*(Four *)(scores + i + 4));
  }
  for (; i < n; i += 4) total += entropy_four(*(Four *)(scores + i));
  return sum_of(total + other);
}

/// U by the mathematical library.
static double entropy(double v) {
  double size = fabs(v), e = exp(-size);
  return log1p(e) + size * e / (1.0 + e);
}

#define CELLS 1024
#define SLOPE_CELLS_A_UNIT 64
#define SLOPE_REACH 16

/// `bound[c]` is the |v| at which U = c/1024; U falls in |v|, so a coin in cell c asks below bound[c + 1], and not above
/// bound[c]. `bound_of_share` is the same for U/ln 2.
static double bound[CELLS + 1], bound_of_share[CELLS + 1];
/// `slope_cell[k]` are the coefficients of 1/(1 + exp v) about the middle of a cell.
static double slope_cell[2 * SLOPE_REACH * SLOPE_CELLS_A_UNIT][4];

static void make_bounds(double *table, double scale) {
  table[0] = INFINITY;
  for (int c = 1; c <= CELLS; c++) {
    double low = 0.0, high = 64.0;
    for (int k = 0; k < 100; k++) {
      double middle = 0.5 * (low + high);
      if (entropy(middle) < scale * (double)c / CELLS) high = middle;
      else low = middle;
    }
    table[c] = high < 1e-9 ? 0.0 : high;
  }
}

static void make_tables(void) {
  make_bounds(bound, 1.0);
  make_bounds(bound_of_share, LN2);
  for (int k = 0; k < 2 * SLOPE_REACH * SLOPE_CELLS_A_UNIT; k++) {
    double v = (k + 0.5) / SLOPE_CELLS_A_UNIT - SLOPE_REACH;
    double p = 1.0 / (1.0 + exp(v)), q = p / (1.0 + exp(-v));
    slope_cell[k][0] = p;
    slope_cell[k][1] = -q;
    slope_cell[k][2] = q * (1.0 - 2.0 * p) / 2.0;
    slope_cell[k][3] = -q * (1.0 - 6.0 * q) / 6.0;
  }
}

/// Whether `scale` times the coin of this hash falls below U(v); `table` belongs to the scale.
INLINE int falls_below(const double *table, double scale, uint64_t coin, double v) {
  double size = fabs(v);
  const double *edge = table + (coin >> 54);
  if (size < edge[1]) return 1;
  if (__builtin_expect(size <= edge[0], 0)) return scale * unit(coin) < entropy(v);
  return 0;
}

INLINE int asks(uint64_t coin, double v) { return falls_below(bound, 1.0, coin, v); }

/// 1/(1 + exp v), to 3e-11: a chain of asks waits for this, and a table is twice as quick as an exponential.
INLINE double falling(double v) {
  double place = (v + SLOPE_REACH) * SLOPE_CELLS_A_UNIT;
  if (!(0.0 <= place && place < 2.0 * SLOPE_REACH * SLOPE_CELLS_A_UNIT)) return 1.0 / (1.0 + exp(v));
  int k = (int)place;
  double r = (place - (k + 0.5)) * (1.0 / SLOPE_CELLS_A_UNIT);
  const double *c = slope_cell[k];
  return (c[0] + r * c[1]) + r * r * (c[2] + r * c[3]);
}

INLINE void fill_coins(uint64_t *coins, uint64_t time, size_t n) {
  for (size_t i = 0; i < n; i += 4) *(Bits *)(coins + i) = hashes_at(KEY_COIN, time + i);
}

/// w·x with four sums of four, wherever the row starts.
INLINE double dot(const double *w, const float *x, size_t dim) {
  Four a = all(0.0), b = all(0.0), c = all(0.0), e = all(0.0);
  size_t j = 0;
  for (; j + 16 <= dim; j += 16) {
    a += *(const FourLoose *)(w + j) * widen(x + j);
    b += *(const FourLoose *)(w + j + 4) * widen(x + j + 4);
    c += *(const FourLoose *)(w + j + 8) * widen(x + j + 8);
    e += *(const FourLoose *)(w + j + 12) * widen(x + j + 12);
  }
  for (; j + 4 <= dim; j += 4) a += *(const FourLoose *)(w + j) * widen(x + j);
  double tail = 0.0;
  for (; j < dim; j++) tail += w[j] * (double)x[j];
  return sum_of((a + b) + (c + e)) + tail;
}

/// theta += move·x and moment += late·x.
INLINE void add_row(double *theta, double *moment, const float *x, double move, double late, size_t dim) {
  size_t j = 0;
  for (; j + 4 <= dim; j += 4) {
    Four row = widen(x + j);
    *(FourLoose *)(theta + j) += move * row;
    *(FourLoose *)(moment + j) += late * row;
  }
  for (; j < dim; j++) {
    theta[j] += move * (double)x[j];
    moment[j] += late * (double)x[j];
  }
}
