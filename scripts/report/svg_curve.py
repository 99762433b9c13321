"""Draws curves between 0 and 1 as an SVG picture, without a library."""
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 20, 50
COLOURS = ["#1b6ca8", "#c1440e", "#3a7d44", "#777777", "#8e44ad"]
AVERAGED_UPDATES = 5   # the bold line is their running mean; the faint one the values themselves


def running_mean(values, width=AVERAGED_UPDATES):
    windows = [values[max(0, end - width):end] for end in range(1, len(values) + 1)]
    return [sum(window) / len(window) for window in windows]


def place(index, value, count):
    x = LEFT + (WIDTH - LEFT - RIGHT) * index / max(1, count - 1)
    return f"{x:.1f},{TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(1.0, max(0.0, value))):.1f}"


def line(values, count, colour, width, opacity):
    points = " ".join(place(i, value, count) for i, value in enumerate(values))
    return (f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}" '
            f'stroke-opacity="{opacity}"/>')


def axes(count, x_title, y_title):
    parts = []
    for tenth in range(0, 11, 2):
        y = place(0, tenth / 10, count).split(",")[1]
        parts.append(f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}" stroke="#ddd"/>'
                     f'<text x="{LEFT - 8}" y="{y}" text-anchor="end" dy="4">{tenth / 10:.1f}</text>')
    for index in sorted({round(i * (count - 1) / 6) for i in range(7)}):
        x = place(index, 0, count).split(",")[0]
        parts.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{index + 1}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle">{escape(x_title)}</text>')
    parts.append(f'<text transform="translate(16 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">'
                 f'{escape(y_title)}</text>')
    return parts


def draw(curves, x_title, y_title):
    """curves: {name: values from 0 to 1}"""
    count = max(len(values) for values in curves.values())
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    parts += axes(count, x_title, y_title)
    for number, (name, values) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(line(values, count, colour, 1, 0.3))
        parts.append(line(running_mean(values), count, colour, 2.5, 1))
        y = TOP + 16 + 16 * number
        parts.append(f'<text x="{LEFT + 10}" y="{y}" fill="{colour}">{escape(name)}</text>')
    return "\n".join(parts + ["</svg>\n"])
