// The plain way to read text: a line at a time, numbers by the library.

/// Fills `columns` and `x` from a line of svmlight or VW; gives how many there are.
static size_t tokens_plain(TextLearner *text, char *p, Format format) {
  size_t width = 0;
  if (format == VW) {
    p = strchr(p, '|');
    if (!p) fail("a line has no bar between label and features");
    p++;
  }
  for (char *end;; p = end) {
    unsigned long column = strtoul(p, &end, 10);
    if (end == p || *end != ':') return width;
    if (column - 1 >= text->learner.dim || width == text->room) fail("feature %lu is out of range", column);
    text->columns[width] = (uint32_t)(column - 1);
    text->x[width++] = strtof(end + 1, &end);
  }
}

static Checks parse_plain(const void *input, const Options *options) {
  const TextFile *source = input;
  FILE *file = fopen(source->path, "r");
  if (!file) fail("cannot read \"%s\"", source->path);
  char *line = NULL;
  size_t room = 0;
  TextLearner *text = source->format == CSV ? NULL : new_text_learner(options->dim, options);
  while (0 < getline(&line, &room, file)) {
    if (!text) {
      text = new_text_learner(count_columns(line), options);
      continue;
    }
    char *p = line;
    if (source->format == CSV) {
      for (size_t j = 0; j < text->learner.dim; j++, p++) text->x[j] = strtof(p, &p);
      learn_plainly(&text->learner, NULL, text->x, text->learner.dim, 0.0 < strtod(p, &p) ? 1.0 : -1.0);
    } else {
      double y = 0.0 < strtod(p, &p) ? 1.0 : -1.0;
      size_t width = tokens_plain(text, p, source->format);
      learn_plainly(&text->learner, text->columns, text->x, width, y);
    }
  }
  if (!text) fail("%s: the file is empty", source->path);
  free(line);
  fclose(file);
  for (size_t i = 0; i < BLOCK; i++) text->v[i] = INFINITY;
  return finish_text(text);
}

static void parse(Format format, const char *path, Options options) {
  static const char *names[] = {"csv", "svm", "vw"};
  TextFile source = {format, path};
  for (int k = 0; k < 32; k++) ten_to_minus[k] = pow(10.0, -k);
  if (options.step == 0.0) options.step = 1e-2;
  if (!options.dim) options.dim = 1 << 20;
  char name[64];
  snprintf(name, sizeof name, "parse/%s/plain", names[format]);
  measure(name, parse_plain, &source, &options);
  snprintf(name, sizeof name, "parse/%s/best", names[format]);
  measure(name, parse_best, &source, &options);
}
