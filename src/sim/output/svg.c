/* SVG documents. */
#include "sim/output/svg.h"

#include <math.h>
#include <stdio.h>

/* Okabe and Ito's colours, which people with any colour vision can tell apart; a little lighter on
 * dark. */
static const char style[] =
    "<style>\n"
    ":root{color-scheme:light dark}\n"
    ".page{fill:#ffffff}.ink{fill:#1f2328}.dim{fill:#59636e}.grid{stroke:#d1d9e0}"
    ".axis{stroke:#59636e}\n"
    ".c0{fill:#0072b2}.c1{fill:#d55e00}.c2{fill:#009e73}.c3{fill:#cc79a7}.c4{fill:#b58900}"
    ".c5{fill:#56b4e9}.c6{fill:#7a5195}.c7{fill:#6e7781}\n"
    ".s0{stroke:#0072b2}.s1{stroke:#d55e00}.s2{stroke:#009e73}.s3{stroke:#cc79a7}"
    ".s4{stroke:#b58900}.s5{stroke:#56b4e9}.s6{stroke:#7a5195}.s7{stroke:#6e7781}\n"
    "text{font:12px system-ui,sans-serif}.small{font-size:10.5px}.head{font-size:14px;"
    "font-weight:600}\n"
    "line{stroke-width:1}polyline{fill:none;stroke-width:2;stroke-linejoin:round}"
    ".whisker{stroke:#1f2328}\n"
    "@media (prefers-color-scheme:dark){.page{fill:#0d1117}.ink{fill:#f0f6fc}.dim{fill:#9198a1}"
    ".grid{stroke:#30363d}.axis{stroke:#9198a1}.whisker{stroke:#f0f6fc}\n"
    ".c0{fill:#4aa3df}.c1{fill:#ff8a4c}.c2{fill:#2ec4a0}.c3{fill:#e7a1c8}.c4{fill:#e3b341}"
    ".c6{fill:#b48ad6}.c7{fill:#9198a1}\n"
    ".s0{stroke:#4aa3df}.s1{stroke:#ff8a4c}.s2{stroke:#2ec4a0}.s3{stroke:#e7a1c8}"
    ".s4{stroke:#e3b341}.s6{stroke:#b48ad6}.s7{stroke:#9198a1}}\n"
    "</style>\n";

static void text_escape(struct sl_buf *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        switch (*c) {
        case '<':
            sl_buf_puts(out, "&lt;");
            break;
        case '>':
            sl_buf_puts(out, "&gt;");
            break;
        case '&':
            sl_buf_puts(out, "&amp;");
            break;
        case '"':
            sl_buf_puts(out, "&quot;");
            break;
        default:
            /* XML has no other control characters, and names here need none */
            sl_buf_putc(out, (unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c);
        }
    }
}

void sl_svg_begin(struct sl_buf *out, double width, double height, const char *title)
{
    sl_buf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
                  "width=\"%.0f\" height=\"%.0f\" role=\"img\">\n<title>",
                  width, height, width, height);
    text_escape(out, title);
    sl_buf_puts(out, "</title>\n");
    sl_buf_puts(out, style);
    sl_buf_printf(out, "<rect class=\"page\" width=\"%.0f\" height=\"%.0f\"/>\n", width, height);
}

void sl_svg_end(struct sl_buf *out)
{
    sl_buf_puts(out, "</svg>\n");
}

void sl_svg_text(struct sl_buf *out, double x, double y, enum sl_svg_anchor anchor,
                 const char *class, const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    sl_buf_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", class, x, y,
                  anchors[anchor]);
    text_escape(out, text);
    sl_buf_puts(out, "</text>\n");
}

void sl_svg_line(struct sl_buf *out, double x1, double y1, double x2, double y2, const char *class)
{
    sl_buf_printf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                  class, x1, y1, x2, y2);
}

void sl_svg_bar(struct sl_buf *out, double x, double y, double width, double height,
                unsigned colour, const char *tip)
{
    sl_buf_printf(out, "<rect class=\"c%u\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"",
                  colour % SL_SVG_COLOURS, x, y, width, height);
    if (tip == NULL) {
        sl_buf_puts(out, "/>\n");
        return;
    }
    sl_buf_puts(out, "><title>");
    text_escape(out, tip);
    sl_buf_puts(out, "</title></rect>\n");
}

/* ---- axes ---- */

double sl_tick(double range, int n)
{
    static const double steps[] = {1, 2, 5, 10};
    if (!(range > 0)) {
        return 1;
    }
    double rough = range / n;
    double power = pow(10, floor(log10(rough)));
    for (int i = 0; i < 4; i++) {
        if (steps[i] * power >= rough * 0.999) {
            return steps[i] * power;
        }
    }
    return 10 * power;
}

void sl_short_number(double value, char out[24])
{
    double size = fabs(value);
    if (size >= 1e6) {
        (void)snprintf(out, 24, "%gM", value / 1e6);
    } else if (size >= 1e4) {
        (void)snprintf(out, 24, "%gk", value / 1e3);
    } else {
        (void)snprintf(out, 24, "%.4g", size < 1e-9 ? 0.0 : value);
    }
}

double sl_axes_x(const struct sl_axes *axes, double value)
{
    return axes->x + (value - axes->min_x) / (axes->max_x - axes->min_x) * axes->width;
}

double sl_axes_y(const struct sl_axes *axes, double value)
{
    return axes->y + axes->height -
           (value - axes->min_y) / (axes->max_y - axes->min_y) * axes->height;
}

void sl_axes_draw(struct sl_buf *out, const struct sl_axes *axes, const char *name_x,
                  const char *name_y)
{
    enum { TICKS_MAX = 20 };
    double bottom = axes->y + axes->height;
    double step_x = sl_tick(axes->max_x - axes->min_x, axes->width > 300 ? 7 : 4);
    double step_y = sl_tick(axes->max_y - axes->min_y, 5);
    char number[24];
    for (int i = 0; i < TICKS_MAX; i++) {
        double value = (ceil(axes->min_x / step_x - 1e-9) + i) * step_x;
        if (value <= axes->max_x * (1 + 1e-9)) {
            double x = sl_axes_x(axes, value);
            sl_svg_line(out, x, axes->y, x, bottom, "grid");
            sl_short_number(value, number);
            sl_svg_text(out, x, bottom + 15, SL_SVG_MIDDLE, "dim small", number);
        }
        value = (ceil(axes->min_y / step_y - 1e-9) + i) * step_y;
        if (value <= axes->max_y * (1 + 1e-9)) {
            double y = sl_axes_y(axes, value);
            sl_svg_line(out, axes->x, y, axes->x + axes->width, y, "grid");
            sl_short_number(value, number);
            sl_svg_text(out, axes->x - 6, y + 4, SL_SVG_RIGHT, "dim small", number);
        }
    }
    sl_svg_line(out, axes->x, bottom, axes->x + axes->width, bottom, "axis");
    sl_svg_line(out, axes->x, axes->y, axes->x, bottom, "axis");
    sl_svg_text(out, axes->x + axes->width / 2, bottom + 31, SL_SVG_MIDDLE, "dim small", name_x);
    sl_svg_text(out, axes->x - 40, axes->y - 8, SL_SVG_LEFT, "dim small", name_y);
}

void sl_axes_curve(struct sl_buf *out, const struct sl_axes *axes, const double *x, const double *y,
                   size_t n, unsigned colour)
{
    sl_buf_printf(out, "<polyline class=\"s%u\" points=\"", colour % SL_SVG_COLOURS);
    for (size_t i = 0; i < n; i++) {
        if (x[i] <= axes->max_x * (1 + 1e-9)) {
            sl_buf_printf(out, "%.1f,%.1f ", sl_axes_x(axes, x[i]), sl_axes_y(axes, y[i]));
        }
    }
    sl_buf_puts(out, "\"/>\n");
}
