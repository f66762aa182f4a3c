#!/bin/sh
# Makes DejaVuSans-subset.ttf from the DejaVuSans.ttf of Debian's fonts-dejavu-core 2.37
# with the subsetter of fonttools 4.38. Hinting, kerning and layout tables go: the crate places
# glyphs by their advance widths and combining marks by their outlines.
#
# usage: make.sh path/to/DejaVuSans.ttf
set -eu
python3 -m fontTools.subset "$1" \
  --output-file="$(dirname "$0")/DejaVuSans-subset.ttf" \
  --unicodes="U+0020-007E,U+00A0-017F,U+018F,U+0192,U+01CD-01DC,U+0259,U+02B0-02B8,U+02C6-02DD,U+0300-0345,U+0370-03FF,U+1D2C-1D6A,U+1E00-1E99,U+1EF2-1EF9,U+2010-2027,U+2030-2037,U+2070-2094,U+20AC,U+20D6-20D7,U+2102,U+210D,U+2110-2115,U+2119-211D,U+2122,U+2124,U+2126,U+212B-2131,U+2133-2138,U+2146-2147,U+2190-2199,U+21A6,U+21D0-21D5,U+2200-22FF,U+2308-230B,U+25A0-25CF,U+2713-2717,U+27E6-27EB,U+2A7D-2A7E,U+1D538-1D550,U+1D7D8-1D7D9" \
  --layout-features="" --no-hinting --desubroutinize \
  --drop-tables+=GPOS,GSUB,GDEF,MATH,kern,FFTM,gasp \
  --name-IDs="0,1,2,4,5,13,14" --notdef-outline --recommended-glyphs
