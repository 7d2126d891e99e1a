// The legend of a panel: a table of buttons, a row for each value, a column for each method, a button for each curve.

function swatch(stroke, shade) {
  const line = stroked(shape("line", { x1: 0, x2: 38, y1: 5, y2: 5 }), stroke);
  const picture = shape("svg", { class: "swatch", width: 38, height: 10, "aria-hidden": "true" }, line);
  return shade ? tinted(picture, shade) : picture;
}

class Legend {
  constructor(chart) {
    this.chart = chart;
    this.buttons = [];
    const { methods, values } = chart.panel;
    const corner = element("td", {}, this.group("all", () => true, "all curves"));
    const heads = methods.map((method, m) => element("th", { scope: "col" }, this.method(method, m)));
    const rows = values.map((value, v) => {
      const head = element("th", { scope: "row" }, this.value(value, v));
      return element("tr", {}, head, ...methods.map((_, m) => this.cell(m, v)));
    });
    const body = [element("thead", {}, element("tr", {}, corner, ...heads)), element("tbody", {}, ...rows)];
    this.table = element("table", { class: "legend", "aria-label": "Curves shown" }, ...body);
    this.refresh();
  }

  /** A button for all the curves that belong: press to hide them, or to show them all where one is hidden. */
  group(text, belongs, label) {
    const members = [...this.chart.panel.lines.keys()].filter((k) => belongs(this.chart.panel.lines[k]) && this.drawable(k));
    const button = element("button", { type: "button", class: "group", "aria-label": label }, text);
    return this.control(button, members);
  }

  method(method, m) {
    const button = this.group(method.label, (line) => line.method === m, `${method.label}, all values`);
    button.append(swatch(method));
    button.dataset.method = method.label;
    return button;
  }

  value(value, v) {
    const button = this.group("", (line) => line.value === v, `${value.label}, all methods`);
    button.append(tinted(element("span", { class: "chip" }), value), value.label);
    button.dataset.value = value.label;
    return button;
  }

  cell(m, v) {
    const { lines, methods, values } = this.chart.panel;
    const k = lines.findIndex((line) => line.method === m && line.value === v);
    if (k < 0) return element("td");
    const label = `${methods[m].label}, ${values[v].label}`;
    const button = element("button", { type: "button", "data-curve": k, "aria-label": label }, swatch(methods[m], values[v]));
    if (!this.drawable(k)) button.title = "no error above zero to draw";
    for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => this.chart.focus(k));
    for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => this.chart.rest());
    return element("td", {}, this.control(button, this.drawable(k) ? [k] : []));
  }

  drawable(k) {
    return this.chart.panel.lines[k].calls.x.length > 0;
  }

  control(button, members) {
    button.disabled = members.length === 0;
    button.addEventListener("click", () => {
      const show = !members.every((k) => this.chart.shown[k]);
      for (const k of members) this.chart.shown[k] = show;
      this.chart.draw();
      this.refresh();
    });
    this.buttons.push([button, members]);
    return button;
  }

  refresh() {
    for (const [button, members] of this.buttons) {
      const on = members.filter((k) => this.chart.shown[k]).length;
      button.setAttribute("aria-pressed", on === 0 ? "false" : on === members.length ? "true" : "mixed");
    }
  }
}
