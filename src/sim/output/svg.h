/* SVG documents that read well on light and on dark pages: colours are classes of one style sheet,
 * which follows prefers-color-scheme. */
#ifndef SLICED_SIM_SVG_H
#define SLICED_SIM_SVG_H

#include "util/buf.h"

enum { SL_SVG_COLOURS = 8 }; /* class c0..c7 fills, s0..s7 strokes; others repeat them */

enum sl_svg_anchor { SL_SVG_LEFT, SL_SVG_MIDDLE, SL_SVG_RIGHT };

void sl_svg_begin(struct sl_buf *out, double width, double height, const char *title);
void sl_svg_end(struct sl_buf *out);

/* class: "ink", "dim", "small", ... of the style sheet; text is escaped. */
void sl_svg_text(struct sl_buf *out, double x, double y, enum sl_svg_anchor anchor,
                 const char *class, const char *text);
void sl_svg_line(struct sl_buf *out, double x1, double y1, double x2, double y2, const char *class);
/* Filled with colour number colour; tip (may be NULL) shows under the pointer. */
void sl_svg_bar(struct sl_buf *out, double x, double y, double width, double height,
                unsigned colour, const char *tip);

/* A rectangle of the page with axes. */
struct sl_axes {
    double x, y, width, height; /* of the area of the curves */
    double min_x, max_x, min_y, max_y;
};
double sl_axes_x(const struct sl_axes *axes, double value);
double sl_axes_y(const struct sl_axes *axes, double value);
/* Frame, grid, ticks at round numbers, names of the axes. */
void sl_axes_draw(struct sl_buf *out, const struct sl_axes *axes, const char *name_x,
                  const char *name_y);
/* A polyline through n points, clipped to max_x by leaving points beyond it out. */
void sl_axes_curve(struct sl_buf *out, const struct sl_axes *axes, const double *x, const double *y,
                   size_t n, unsigned colour);

/* The distance of ticks so that about n of them span that range: 1, 2 or 5 times a power of ten. */
double sl_tick(double range, int n);
/* A number as short as it can be: "0", "250", "1.5k", "2M". */
void sl_short_number(double value, char out[24]);

#endif
