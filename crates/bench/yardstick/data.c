// Data in memory, made by a formula from the number of the row; nothing here is timed.
//
// x(i, j) = √3 (2u − 1), u from half a hash at place (i·dim + j)/2, so each feature has variance one. The model is
// w(j) = 4√3 (2u − 1)/√k for k features a row, so a true score has deviation 4. The label is +1 with probability
// σ(w·x), and one label in 32 is flipped.

typedef struct {
  uint64_t n_rows;
  size_t dim, width;  // width: features a row; dim for dense rows
  float *values;
  uint32_t *columns;  // none: dense rows
  uint64_t *starts;
  int8_t *labels;
} Rows;

static double model_at(uint64_t column, size_t width) {
  return 4.0 * 1.7320508075688772 / sqrt((double)width) * (2.0 * unit(hash_at(KEY_MODEL, column)) - 1.0);
}

/// Columns are one of each `dim/width` neighbors, so that they are in order and differ.
static uint32_t column_at(uint64_t place, size_t j, size_t width, size_t dim) {
  uint64_t stride = dim / width;
  return (uint32_t)(j * stride + (hash_at(KEY_COLUMN, place) >> 32) * stride / 0x100000000ull);
}

static void make_values(float *values, uint64_t first, size_t n) {
  for (size_t j = 0; j < n; j++) {
    uint64_t hash = hash_at(KEY_DATA, (first + j) >> 1);
    uint32_t bits = (uint32_t)((first + j) & 1 ? hash : hash >> 32);
    values[j] = (float)(1.7320508075688772 * (2.0 * unit_half(bits) - 1.0));
  }
}

static int8_t label_of(double score, uint64_t row) {
  uint64_t hash = hash_at(KEY_LABEL, row);
  int positive = unit(hash) < 1.0 / (1.0 + exp(-score));
  return (hash & 31) == 0 ? (positive ? -1 : 1) : (positive ? 1 : -1);
}

static Rows make_rows(uint64_t n_rows, size_t width, size_t dim) {
  int sparse = width < dim;
  Rows rows = {.n_rows = n_rows, .dim = dim, .width = width};
  rows.values = allocate(n_rows * width * sizeof *rows.values);
  rows.labels = allocate(n_rows);
  double *model = allocate(dim * sizeof *model);
  for (size_t j = 0; j < dim; j++) model[j] = model_at(j, width);
  if (sparse) {
    rows.columns = allocate(n_rows * width * sizeof *rows.columns);
    rows.starts = allocate((n_rows + 1) * sizeof *rows.starts);
    rows.starts[n_rows] = n_rows * width;
  }
  for (uint64_t i = 0; i < n_rows; i++) {
    uint64_t first = i * width;
    double score = 0.0;
    make_values(rows.values + first, first, width);
    for (size_t j = 0; j < width; j++) {
      size_t column = sparse ? column_at(first + j, j, width, dim) : j;
      if (sparse) rows.columns[first + j] = (uint32_t)column;
      score += model[column] * (double)rows.values[first + j];
    }
    if (sparse) rows.starts[i] = first;
    rows.labels[i] = label_of(score, i);
  }
  free(model);
  return rows;
}

static void free_rows(Rows *rows) {
  free(rows->values);
  free(rows->labels);
  free(rows->columns);
  free(rows->starts);
}
