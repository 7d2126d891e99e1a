"use strict";

// Numbers to places and to words. Nothing here knows about the page.

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function power(exponent) {
  const digits = String(Math.abs(exponent)).replace(/\d/g, (digit) => SUPERSCRIPTS[digit]);
  return `10${exponent < 0 ? "⁻" : ""}${digits}`;
}

/** A plain number where it is short, and a power of ten where it is not. */
function words(value, digits = 4) {
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-3 && size < 1e6)) {
    return value.toLocaleString("en", { maximumSignificantDigits: Math.max(digits, size >= 1 ? Math.ceil(Math.log10(size + 1)) : 0) });
  }
  return scientific(value, digits);
}

function scientific(value, digits = 4) {
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  return `${mantissa} × ${power(Number(exponent))}`;
}

/** A map from values to pixels, with the same kind of map inside for logarithmic axes. */
function scaleOf(kind, [from, to], [start, end]) {
  const warp = kind === "log" ? Math.log10 : Number;
  const slope = (end - start) / (warp(to) - warp(from));
  return (value) => start + (warp(value) - warp(from)) * slope;
}

/** The interval of an axis; never empty, and up to whole decades where `whole` asks for them. */
function domainOf(kind, values, whole = false) {
  let [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [1, 10];
  if (kind === "linear") return [0, high];
  if (whole) [low, high] = [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))];
  return high > low ? [low, high] : [low / 3, high * 3];
}

/** Where an axis is marked: places and their names. */
function ticksOf(kind, domain, most) {
  return kind === "log" ? decades(domain, most) : rounds(domain, most);
}

function decades([from, to], most) {
  const low = Math.ceil(Math.log10(from) - 1e-9);
  const high = Math.floor(Math.log10(to) + 1e-9);
  // Less than two decades have too few powers of ten to read a value from.
  if (high - low < 2) return parts([from, to]);
  const step = Math.ceil((high - low + 1) / most);
  const first = Math.ceil(low / step) * step;
  return Array.from({ length: Math.floor((high - first) / step) + 1 }, (_, k) => first + k * step)
    .map((exponent) => ({ at: 10 ** exponent, name: power(exponent) }));
}

function parts([from, to]) {
  const found = [];
  for (let k = Math.floor(Math.log10(from)); k <= Math.log10(to); k += 1) {
    for (const digit of [1, 2, 5]) found.push(digit * 10 ** k);
  }
  return found.filter((at) => at >= from * 0.999 && at <= to * 1.001).map((at) => ({ at, name: words(at, 1) }));
}

function rounds([from, to], most) {
  const rough = (to - from) / most;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((digit) => digit * unit >= rough) * unit;
  return Array.from({ length: Math.floor(to / step + 1e-9) + 1 }, (_, k) => ({ at: k * step, name: words(k * step, 3) }));
}
