// Tabs, theme, and charts that come alive when they are scrolled to. Without it the page shows everything as pictures.
"use strict";
(() => {
const root = document.documentElement;
root.classList.add("js");

function tabs(section) {
  const panels = [...section.querySelectorAll(":scope > .panel")];
  const list = document.createElement("div");
  list.className = "tabs";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", (section.querySelector("h2") ?? section.parentElement.querySelector("summary")).textContent);
  const buttons = panels.map((panel) => {
    const button = document.createElement("button");
    button.type = "button";
    button.id = `${panel.id}-tab`;
    button.textContent = panel.dataset.tab;
    button.setAttribute("role", "tab");
    button.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", button.id);
    panel.tabIndex = 0;
    if (panel.tagName === "DETAILS") panel.open = true;
    return button;
  });
  const choose = (chosen, focus) => {
    buttons.forEach((button, index) => {
      const on = index === chosen;
      button.setAttribute("aria-selected", on);
      button.tabIndex = on ? 0 : -1;
      panels[index].classList.toggle("off", !on);
    });
    if (focus) buttons[chosen].focus();
  };
  buttons.forEach((button, index) => {
    button.addEventListener("click", () => choose(index));
    button.addEventListener("keydown", (event) => {
      const to = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: buttons.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      choose((to + buttons.length) % buttons.length, true);
    });
  });
  list.append(...buttons);
  panels[0].before(list);
  choose(0);
}

function theme() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const say = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Change to ${dark() ? "light" : "dark"} colours`);
    document.dispatchEvent(new Event("themechange"));
  };
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; say(); });
  system.addEventListener("change", say);
  say();
}

async function enliven(holder) {
  const spec = JSON.parse(document.getElementById(holder.dataset.spec).textContent);
  const stage = document.createElement("div");
  stage.className = "stage";
  try {
    const options = { renderer: "svg", actions: false, tooltip: { theme: "custom" }, ast: false };
    await window.vegaEmbed(stage, spec, options);
    holder.append(stage);
    holder.closest("figure").classList.add("live");
  } catch (error) {
    console.error(`chart ${holder.dataset.spec}:`, error);
  }
}

// Pictures were laid out with other metrics than those of the reader's font: wider labels would be cut.
function fit(svg) {
  const box = svg.viewBox.baseVal;
  if (!box.width || !svg.getBoundingClientRect().width) return;
  const to = svg.getScreenCTM().inverse();
  let [left, top, right, bottom] = [box.x, box.y, box.x + box.width, box.y + box.height];
  for (const text of svg.querySelectorAll("text")) {
    if (text.closest("[clip-path]")) continue;
    const { x, y, width, height } = text.getBBox();
    if (!width) continue;
    const place = to.multiply(text.getScreenCTM());
    for (const corner of [[x, y], [x + width, y], [x, y + height], [x + width, y + height]]) {
      const at = new DOMPoint(...corner).matrixTransform(place);
      left = Math.min(left, Math.floor(at.x));
      top = Math.min(top, Math.floor(at.y));
      right = Math.max(right, Math.ceil(at.x));
      bottom = Math.max(bottom, Math.ceil(at.y));
    }
  }
  if (right - left === box.width && bottom - top === box.height) return;
  const wider = (right - left) / box.width, higher = (bottom - top) / box.height;
  const background = svg.querySelector(":scope > rect");
  svg.setAttribute("viewBox", `${left} ${top} ${right - left} ${bottom - top}`);
  for (const [name, times] of [["width", wider], ["height", higher]]) {
    if (svg.hasAttribute(name)) svg.setAttribute(name, times * parseFloat(svg.getAttribute(name)));
  }
  const filled = { x: left, y: top, width: right - left, height: bottom - top };
  for (const [name, value] of Object.entries(background ? filled : {})) background.setAttribute(name, value);
}

// Also those in tabs that are hidden: they have no size before they are seen.
function fitting() {
  const sized = new ResizeObserver((entries) => { for (const { target } of entries) fit(target); });
  for (const svg of document.querySelectorAll(".picture svg")) sized.observe(svg);
}

function charts() {
  if (!window.vegaEmbed) return;
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      enliven(target);
    }
  }, { rootMargin: "300px" });
  for (const holder of document.querySelectorAll("[data-spec]")) seen.observe(holder);
}

function copying() {
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("code").textContent;
      try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = "Select it by hand"; }
    });
  }
}

// A chart as a file of its own: its colours are the page's variables, which no other program knows.
function alone(svg) {
  const style = getComputedStyle(root);
  const copy = svg.cloneNode(true);
  const box = svg.viewBox.baseVal;
  const width = box && box.width ? box.width : svg.getBoundingClientRect().width;
  const height = box && box.height ? box.height : svg.getBoundingClientRect().height;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const text = new XMLSerializer().serializeToString(copy);
  return { width, height, text: text.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim()) };
}

// As a blob: browsers cut links that hold the data themselves.
function save(name, blob) {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(blob);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// The longest side of a canvas that browsers draw on; beyond it they give an empty file.
const LONGEST = 16_000;

function drawnTwice({ width, height, text }, then) {
  const picture = new Image();
  picture.onload = () => {
    const canvas = document.createElement("canvas");
    const times = Math.min(2, LONGEST / width, LONGEST / height);
    canvas.width = times * width;
    canvas.height = times * height;
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(then, "image/png");
  };
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

function saving() {
  for (const picture of document.querySelectorAll("figure .picture")) {
    const name = picture.closest("section").id;
    const bar = document.createElement("p");
    bar.className = "save";
    const shown = () => picture.querySelector(".stage svg") ?? picture.querySelector("svg");
    const add = (label, act) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      button.addEventListener("click", act);
      bar.append(button, " ");
    };
    // The lanes fill the width themselves; their picture is for print.
    if (picture.dataset.spec) add("Full size", () => picture.classList.toggle("whole"));
    add("Save SVG", () => save(`${name}.svg`, new Blob([alone(shown()).text], { type: "image/svg+xml" })));
    add("Save PNG", () => drawnTwice(alone(shown()), (blob) => save(`${name}.png`, blob)));
    picture.after(bar);
  }
}

for (const section of document.querySelectorAll("section.chart")) tabs(section);
saving();
theme();
fitting();
charts();
copying();
})();
