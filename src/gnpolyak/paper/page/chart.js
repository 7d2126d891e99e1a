// One panel: its axes, its curves, and the value under the pointer.

const AXES = { calls: "oracle calls", seconds: "seconds" };

function shape(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Both colours; the style sheet takes the one of the theme. */
function tinted(node, { light, dark }) {
  node.classList.add("shade");
  node.style.setProperty("--light", light);
  node.style.setProperty("--dark", dark);
  return node;
}

/** Widths come in points of the printed figures; a screen is read from further away. */
function stroked(node, { width, dashes }) {
  const wide = 1.2 * width;
  node.setAttribute("stroke-width", wide);
  if (dashes.length) node.setAttribute("stroke-dasharray", dashes.map((length) => length * wide).join(" "));
  return node;
}

class Chart {
  constructor(host, panel, axis) {
    Object.assign(this, { host, panel, axis });
    this.shown = panel.lines.map((line) => line.calls.x.length > 0);
    this.tip = element("div", { class: "tip", role: "status", hidden: "" });
    this.canvas = shape("svg", { role: "img", tabindex: "0" });
    host.append(this.canvas, this.tip);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerdown", (event) => this.point(event));
    // A finger leaves as soon as it has tapped; what it asked for stays until the next tap.
    this.canvas.addEventListener("pointerleave", (event) => event.pointerType === "touch" || this.rest());
    this.canvas.addEventListener("blur", () => this.rest());
    this.canvas.addEventListener("keydown", (event) => this.walk(event));
    new ResizeObserver(() => this.host.clientWidth !== this.width && this.draw()).observe(host);
    this.draw();
  }

  /** The places of a line and its errors; one seed has no band of its own. */
  series(line) {
    const { median, ...rest } = line[this.axis.quantity];
    return { median, low: median, high: median, ...rest };
  }

  visible() {
    const chosen = this.panel.lines.filter((_, k) => this.shown[k]);
    return chosen.length ? chosen : this.panel.lines;
  }

  draw() {
    this.width = this.host.clientWidth;
    this.height = Math.round(Math.max(270, Math.min(440, this.width * 0.62)));
    this.box = { left: 62, right: this.width - 14, top: 10, bottom: this.height - 48 };
    const { left, right, top, bottom } = this.box;
    const all = this.visible().map((line) => this.series(line));
    const across = domainOf(this.axis.scale, all.flatMap((series) => series.x));
    const up = domainOf("log", all.flatMap((series) => [...series.low, ...series.high]), true);
    this.x = scaleOf(this.axis.scale, across, [left, right]);
    this.y = scaleOf("log", up, [bottom, top]);
    this.canvas.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.canvas.setAttribute("width", this.width);
    this.canvas.setAttribute("height", this.height);
    const name = AXES[this.axis.quantity];
    this.canvas.setAttribute("aria-label", `${this.panel.title}: objective error against ${name}, ${all.length} curves`);
    // The thick strokes first, so that the thin ones cross over them, and all of them over the bands.
    const open = [...this.shown.keys()].filter((k) => this.shown[k]).sort((a, b) => this.stroke(b).width - this.stroke(a).width);
    this.lines = [...open.map((k) => this.band(k)), ...open.map((k) => this.curve(k))].filter((line) => line);
    this.marker = shape("g", { class: "marker" });
    this.canvas.replaceChildren(...this.axes(across, up, name), ...this.lines, this.marker);
    this.rest();
  }

  stroke(k) {
    return this.panel.methods[this.panel.lines[k].method];
  }

  axes(across, up, name) {
    const { left, right, top, bottom } = this.box;
    const vertical = ticksOf("log", up, 9);
    const horizontal = ticksOf(this.axis.scale, across, Math.max(3, Math.floor((right - left) / (this.axis.scale === "log" ? 45 : 75))));
    const grid = [
      ...vertical.map(({ at }) => `M${left} ${this.y(at)}H${right}`),
      ...horizontal.map(({ at }) => `M${this.x(at)} ${top}V${bottom}`),
    ];
    const [middle, centre] = [(top + bottom) / 2, (left + right) / 2];
    const text = (kind, place, anchor, content) => shape("text", { class: kind, ...place, "text-anchor": anchor }, content);
    return [
      shape("path", { class: "grid", d: grid.join("") }),
      shape("path", { class: "frame", d: `M${left} ${top}V${bottom}H${right}` }),
      ...vertical.map((tick) => text("tick-y", { x: left - 8, y: this.y(tick.at) + 4 }, "end", tick.name)),
      ...horizontal.map((tick) => text("tick-x", { x: this.x(tick.at), y: bottom + 18 }, "middle", tick.name)),
      text("name name-x", { x: centre, y: bottom + 40 }, "middle", name),
      text("name name-y", { transform: `translate(14 ${middle}) rotate(-90)` }, "middle", "objective error f − h*"),
    ];
  }

  path(k, name, places, closed = "") {
    const d = places.map(([x, y]) => `${this.x(x).toFixed(1)} ${this.y(y).toFixed(1)}`).join("L");
    return tinted(shape("path", { class: name, "data-line": k, d: `M${d}${closed}` }), this.panel.values[this.panel.lines[k].value]);
  }

  curve(k) {
    const { x, median } = this.series(this.panel.lines[k]);
    return x.length ? stroked(this.path(k, "curve", x.map((at, i) => [at, median[i]])), this.stroke(k)) : null;
  }

  band(k) {
    const { x, low, high } = this.series(this.panel.lines[k]);
    if (this.panel.lines[k].seeds === 1 || !x.length) return null;
    const around = [...x.map((at, i) => [at, high[i]]), ...x.map((at, i) => [at, low[i]]).reverse()];
    return this.path(k, "band", around, "Z");
  }

  /** The curve nearest to a place on the canvas, and its nearest value. */
  nearest(across, down) {
    let best = { distance: Infinity };
    this.panel.lines.forEach((line, k) => {
      if (!this.shown[k]) return;
      const { x, median } = this.series(line);
      let [before, point] = [null, { distance: Infinity }];
      let closest = Infinity;
      x.forEach((at, i) => {
        const here = [this.x(at), this.y(median[i])];
        const distance = Math.hypot(here[0] - across, here[1] - down);
        if (distance < point.distance) point = { distance, i };
        closest = Math.min(closest, before ? toSegment([across, down], before, here) : distance);
        before = here;
      });
      if (closest < best.distance) best = { distance: closest, line: k, i: point.i };
    });
    return best;
  }

  point(event) {
    const frame = this.canvas.getBoundingClientRect();
    // Printed or zoomed, the canvas may be smaller than what was drawn.
    const zoom = this.width / frame.width;
    const found = this.nearest((event.clientX - frame.left) * zoom, (event.clientY - frame.top) * zoom);
    if (found.distance < 70) this.focus(found.line, found.i);
    else this.rest();
  }

  /** Arrow keys: along the curve, and from curve to curve. */
  walk(event) {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const open = [...this.shown.keys()].filter((k) => this.shown[k]);
    if (event.key === "Escape") this.rest();
    if (!step || !open.length) return;
    event.preventDefault();
    const place = this.current ? open.indexOf(this.current.line) : 0;
    const line = open[(place + step[0] + open.length) % open.length];
    const last = this.series(this.panel.lines[line]).x.length - 1;
    this.focus(line, Math.max(0, Math.min(last, (this.current ? this.current.i : -1) + step[1])));
  }

  /** Bring one curve forward; with an index, show the value there too. */
  focus(k, i) {
    this.rest();
    if (!this.shown[k]) return;
    this.canvas.classList.add("focused");
    for (const line of this.lines) line.classList.toggle("nearest", Number(line.dataset.line) === k);
    if (i === undefined || !(i in this.series(this.panel.lines[k]).x)) return;
    this.current = { line: k, i };
    const line = this.panel.lines[k];
    const { x, median } = this.series(line);
    const [across, down] = [this.x(x[i]), this.y(median[i])];
    const { left, bottom } = this.box;
    this.marker.replaceChildren(
      shape("path", { class: "cross", d: `M${across} ${bottom}V${down}H${left}` }),
      tinted(shape("circle", { class: "dot", cx: across, cy: down, r: 4.5 }), this.panel.values[line.value]),
    );
    this.tell(line, i);
    this.place(across, down);
  }

  tell(line, i) {
    const { x, median, low, high } = this.series(line);
    const heading = element("strong", {}, `${this.panel.methods[line.method].label}, ${this.panel.values[line.value].label}`);
    const rows = [`${words(x[i])} ${AXES[this.axis.quantity]}`, `error ${scientific(median[i])}`];
    this.tip.replaceChildren(tinted(heading, this.panel.values[line.value]), ...rows.map((row) => element("div", {}, row)));
    if (line.seeds > 1) {
      const range = `${line.seeds} seeds: ${scientific(low[i], 2)} to ${scientific(high[i], 2)}`;
      this.tip.append(element("div", { class: "soft" }, range));
    }
  }

  /** The tip beside the point, above it and to its right as far as the chart has room: curves fall, so that side is free. */
  place(across, down) {
    this.tip.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const left = across + 14 + width > this.width ? across - width - 14 : across + 14;
    this.tip.style.transform = `translate(${Math.max(0, left)}px, ${Math.max(0, down - height - 8)}px)`;
  }

  rest() {
    this.current = null;
    this.tip.hidden = true;
    this.marker.replaceChildren();
    this.canvas.classList.remove("focused");
    for (const line of this.lines) line.classList.remove("nearest");
  }
}

function toSegment([px, py], [ax, ay], [bx, by]) {
  const length = (bx - ax) ** 2 + (by - ay) ** 2;
  const along = length ? Math.max(0, Math.min(1, ((px - ax) * (bx - ax) + (py - ay) * (by - ay)) / length)) : 0;
  return Math.hypot(px - ax - along * (bx - ax), py - ay - along * (by - ay));
}
