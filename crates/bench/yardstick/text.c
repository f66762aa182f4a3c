// generate and parse: text files of the rows of data.c, and Algorithm 1 over them.
//
// CSV has a header and the label in the last column; svmlight and VW count features from one.

typedef enum { CSV, SVM, VW } Format;

static Format format_named(const char *name) {
  if (!strcmp(name, "csv")) return CSV;
  if (!strcmp(name, "svm")) return SVM;
  if (!strcmp(name, "vw")) return VW;
  fail("unknown format \"%s\": expected csv, svm or vw", name);
}

/// The numbers are those of six digits in every format; labels are those of the full numbers.
static void generate(Format format, size_t width, size_t dim, uint64_t n_rows, const char *path) {
  if (format == CSV && width < dim) fail("CSV has no sparse rows: give the number of features alone");
  FILE *file = fopen(path, "w");
  if (!file) fail("cannot write \"%s\"", path);
  setvbuf(file, NULL, _IOFBF, 1 << 20);
  float *x = allocate(width * sizeof *x);
  for (size_t j = 0; format == CSV && j < dim; j++) fprintf(file, "x%zu,", j + 1);
  if (format == CSV) fputs("label\n", file);
  for (uint64_t i = 0; i < n_rows; i++) {
    uint64_t first = i * width;
    double score = 0.0;
    make_values(x, first, width);
    for (size_t j = 0; j < width; j++)
      score += model_at(width < dim ? column_at(first + j, j, width, dim) : j, width) * (double)x[j];
    int label = label_of(score, i);
    if (format != CSV) fprintf(file, "%d%s", label, format == VW ? " |" : "");
    for (size_t j = 0; j < width; j++) {
      size_t column = width < dim ? column_at(first + j, j, width, dim) : j;
      if (format == CSV) fprintf(file, "%.6g,", (double)x[j]);
      else fprintf(file, " %zu:%.6g", column + 1, (double)x[j]);
    }
    if (format == CSV) fprintf(file, "%d", label);
    fputc('\n', file);
  }
  if (fclose(file)) fail("cannot write \"%s\"", path);
  free(x);
}

typedef struct {
  Format format;
  const char *path;
} TextFile;

static double ten_to_minus[32];

/// The value of up to eight digits at `p`; `*n` is how many there are.
INLINE uint64_t eight_digits(const char *p, unsigned *n) {
  uint64_t t;
  memcpy(&t, p, 8);
  t ^= 0x3030303030303030ull;
  uint64_t others = (t | (t + 0x7676767676767676ull)) & 0x8080808080808080ull;
  unsigned bits = others ? (unsigned)__builtin_ctzll(others) & 0x38 : 64;
  *n = bits >> 3;
  // A shift by 64, for no digit, is not defined: it shifts by none and the mask clears all.
  t = (t << (63 - (bits - 1) % 64)) & (bits ? ~0ull : 0ull);
  t = t * 10 + (t >> 8);
  return ((t & 0x000000ff000000ffull) * 0x000f424000000064ull +
          ((t >> 16) & 0x000000ff000000ffull) * 0x0000271000000001ull) >> 32;
}

INLINE const char *read_rare(const char *p, double *value) {
  char *end;
  *value = strtod(p, &end);
  return end == p ? NULL : end;
}

/// A decimal number; null where there is none. What has an exponent or many digits is left to the library.
INLINE const char *read_number(const char *p, double *value) {
  static const uint64_t powers[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  static const double signs[2] = {1.0, -1.0};
  const char *start = p;
  int negative = *p == '-';
  p += negative | (*p == '+');
  const char *first = p;
  uint64_t whole = 0;
  for (unsigned digit; (digit = (unsigned)(unsigned char)*p - '0') < 10; p++) whole = whole * 10 + digit;
  ptrdiff_t whole_digits = p - first;
  unsigned n = 0;
  double number = (double)whole;
  if (*p == '.') {
    uint64_t part = eight_digits(p + 1, &n);
    p += 1 + n;
    number = (double)(int64_t)(whole * powers[n] + part) * ten_to_minus[n];
  }
  if (__builtin_expect((*p | 32) == 'e' || n == 8 || 10 < whole_digits || whole_digits + n == 0, 0))
    return read_rare(start, value);
  *value = number * signs[negative];
  return p;
}

typedef struct {
  uint64_t coins[BLOCK];
  double v[BLOCK];
  Learner learner;
  uint32_t *columns;
  float *x;
  size_t room;
} __attribute__((aligned(32))) TextLearner;

INLINE void learn_row(TextLearner *text, int dense, size_t width, double y) {
  Learner *learner = &text->learner;
  size_t i = learner->time % BLOCK;
  if (i == 0) {
    if (learner->time) learner->expected += sum_entropy(text->v, BLOCK);
    fill_coins(text->coins, learner->time, BLOCK);
  }
  double v = learner->intercept;
  v += dense ? dot(learner->theta, text->x, width) : sparse_dot(learner->theta, text->columns, text->x, width);
  text->v[i] = v;
  if (asks(text->coins[i], v)) {
    double late, move = answer(learner, learner->time, y, falling(y * v), &late);
    if (dense) add_row(learner->theta, learner->moment, text->x, move, late, width);
    else sparse_add(learner, text->columns, text->x, width, move, late);
  }
  learner->time++;
}

/// One line of CSV; null if it cannot be read.
INLINE const char *csv_line(TextLearner *text, const char *p) {
  size_t dim = text->learner.dim;
  double value;
  for (size_t j = 0; j < dim; j++) {
    p = read_number(p, &value);
    if (!p || *p++ != ',') return NULL;
    text->x[j] = (float)value;
  }
  p = read_number(p, &value);
  if (!p || *p++ != '\n') return NULL;
  learn_row(text, 1, dim, 0.0 < value ? 1.0 : -1.0);
  return p;
}

/// One line of svmlight or VW: a label, for VW a bar and a namespace, then number:value.
INLINE const char *sparse_line(TextLearner *text, const char *p, Format format) {
  double label, value;
  size_t width = 0;
  p = read_number(p, &label);
  if (!p) return NULL;
  if (format == VW) {
    while (*p == ' ') p++;
    if (*p++ != '|') return NULL;
    while (*p != ' ' && *p != '\n') p++;
  }
  while (*p == ' ') {
    uint64_t column = 0;
    p++;
    if (*p == '\n' || *p == ' ') continue;
    for (unsigned digit; (digit = (unsigned)(unsigned char)*p - '0') < 10; p++) column = column * 10 + digit;
    if (*p++ != ':' || column - 1 >= text->learner.dim || width == text->room) return NULL;
    // The weight arrives while the rest of the line is read.
    __builtin_prefetch(text->learner.theta + column - 1);
    p = read_number(p, &value);
    if (!p) return NULL;
    text->columns[width] = (uint32_t)(column - 1);
    text->x[width++] = (float)value;
  }
  if (*p++ != '\n') return NULL;
  learn_row(text, 0, width, 0.0 < label ? 1.0 : -1.0);
  return p;
}

#define CHUNK ((size_t)1 << 18)
#define LONGEST ((size_t)1 << 24)

static size_t count_columns(const char *line) {
  size_t n = 0;
  for (; *line && *line != '\n'; line++) n += *line == ',';
  return n;
}

static TextLearner *new_text_learner(size_t dim, const Options *options) {
  TextLearner *text = allocate(sizeof *text);
  text->room = 1 << 20;
  text->learner = new_learner(dim, options->step);
  text->x = allocate((text->room < dim ? dim : text->room) * sizeof *text->x);
  text->columns = allocate(text->room * sizeof *text->columns);
  return text;
}

static Checks finish_text(TextLearner *text) {
  uint64_t time = text->learner.time;
  if (time) text->learner.expected += sum_entropy(text->v, (time - 1) % BLOCK + 1);
  Checks checks = finish(&text->learner);
  free(text->x);
  free(text->columns);
  free(text);
  return checks;
}

INLINE const char *read_lines(TextLearner *text, Format format, const char *p, const char *end, const char *path) {
  while (p < end) {
    const char *next = format == CSV ? csv_line(text, p) : sparse_line(text, p, format);
    if (!next) fail("%s: row %llu cannot be read", path, (unsigned long long)text->learner.time + 1);
    p = next;
  }
  return p;
}

/// Reads in blocks; only whole lines are looked at, so that every number ends before the end of the buffer.
static Checks parse_best(const void *input, const Options *options) {
  const TextFile *source = input;
  int file = open(source->path, O_RDONLY);
  if (file < 0) fail("cannot read \"%s\"", source->path);
  char *buffer = allocate(LONGEST + CHUNK + 16);
  size_t held = 0;
  TextLearner *text = source->format == CSV ? NULL : new_text_learner(options->dim, options);
  for (ssize_t got; 0 < (got = read(file, buffer + held, CHUNK));) {
    size_t end = held + (size_t)got;
    const char *p = buffer, *last = memrchr(buffer + held, '\n', (size_t)got);
    held = end;
    if (!last && LONGEST < end) fail("%s: a line is longer than %zu bytes", source->path, LONGEST);
    if (!last) continue;
    if (!text) {
      text = new_text_learner(count_columns(buffer), options);
      p = (const char *)memchr(buffer, '\n', end) + 1;
    }
    switch (source->format) {
      case CSV: read_lines(text, CSV, p, last + 1, source->path); break;
      case SVM: read_lines(text, SVM, p, last + 1, source->path); break;
      case VW: read_lines(text, VW, p, last + 1, source->path); break;
    }
    held = (size_t)(buffer + end - (last + 1));
    memmove(buffer, last + 1, held);
  }
  if (held) fail("%s: the last line has no end", source->path);
  if (!text) fail("%s: the file is empty", source->path);
  close(file);
  free(buffer);
  return finish_text(text);
}
