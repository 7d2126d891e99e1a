// Puts the charts where the page has room for them, and connects the switches.

const axis = { quantity: "calls", scale: "log" };

const charts = JSON.parse(document.getElementById("data").textContent).map((panel, k) => {
  const chart = new Chart(document.getElementById(`chart-${k}`), panel, axis);
  chart.host.after(element("div", { class: "keys" }, new Legend(chart).table));
  return chart;
});

function connect(buttons, change) {
  for (const button of buttons) {
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      change(button.dataset);
      for (const chart of charts) chart.draw();
    });
  }
}

connect(document.querySelectorAll("[data-axis]"), (chosen) => { axis.quantity = chosen.axis; });
connect(document.querySelectorAll("[data-scale]"), (chosen) => { axis.scale = chosen.scale; });
document.querySelector(".switches").hidden = false;

// The section being read is marked in the bar.
const marks = new Map([...document.querySelectorAll(".bar nav a")].map((link) => [link.hash.slice(1), link]));
const reading = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) marks.get(target.id).setAttribute("aria-current", "true");
    else marks.get(target.id).removeAttribute("aria-current");
  }
}, { rootMargin: "-30% 0px -65% 0px" });
for (const id of marks.keys()) reading.observe(document.getElementById(id));

// A link to a figure is followed before the charts above it have their height: go there again.
const linked = document.getElementById(location.hash.slice(1));
if (linked) addEventListener("load", () => requestAnimationFrame(() => linked.scrollIntoView({ behavior: "instant" })));
