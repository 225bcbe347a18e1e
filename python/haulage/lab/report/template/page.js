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

for (const section of document.querySelectorAll("section.chart")) tabs(section);
theme();
charts();
copying();
})();
