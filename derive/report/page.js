(() => {
  "use strict";
  const FORMULA = ".f,.rows li>p:nth-of-type(odd):not(.t)";
  const form = document.getElementById("filter");
  const [countWords, formulaWord, copiedWords, copyWords] =
    JSON.parse(document.getElementById("words").textContent);
  const said = document.getElementById("said");
  const articles = [...document.querySelectorAll("article")];
  const rows = [...document.querySelectorAll(".entries tr:has(td)")];
  const words = new Map();
  const wordsOf = (article) => {
    if (!words.has(article)) words.set(article, article.textContent.toLowerCase());
    return words.get(article);
  };
  const hasShown = (part, shown) => [...part.querySelectorAll(shown)].some((e) => !e.hidden);

  function filter() {
    const data = new FormData(form);
    const wanted = data.get("q").toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = data.getAll("v");
    const topic = data.get("t");
    const shown = new Set();
    for (const article of articles) {
      const fits = verdicts.includes(article.dataset.v)
        && (!topic || article.parentElement.id === topic)
        && wanted.every((word) => wordsOf(article).includes(word));
      article.hidden = !fits;
      if (fits) shown.add(article.id);
    }
    for (const row of rows) row.hidden = !shown.has(row.querySelector("a").hash.slice(1));
    for (const body of document.querySelectorAll(".entries tbody")) body.hidden = !hasShown(body, "tr:has(td)");
    for (const section of document.querySelectorAll(".topic")) section.hidden = !hasShown(section, "article");
    document.getElementById("count").textContent = countWords
      .replace("{shown}", shown.size).replace("{all}", articles.length);
  }

  /** A link to a claim that is filtered out shows all claims again. */
  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.closest("[hidden]")) return;
    form.reset();
    filter();
    target.scrollIntoView();
  }

  /** Four bytes for every five digits of base 85, which go from "(" to "|", with "!" for "<". */
  function bytesOf(text) {
    const bytes = new Uint8Array(Math.floor((text.length * 4) / 5));
    const digit = (c) => (c === "!" ? 60 : c.charCodeAt(0)) - 40;
    for (let from = 0; from < text.length; from += 5) {
      const five = text.slice(from, from + 5).padEnd(5, "|");
      const word = [...five].reduce((sum, c) => sum * 85 + digit(c), 0);
      for (let k = 0; k < 4; k++) bytes[(from / 5) * 4 + k] = word / 2 ** (24 - 8 * k);
    }
    return bytes;
  }

  async function unpack() {
    const text = document.getElementById("packed").textContent;
    const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
    const [latex, places, markup, tokens, wide] = JSON.parse(await new Response(stream).text());
    let next = 0;
    return {
      latex: places.map((place) => latex[place ? place - 1 : next++]),
      markup: markup.replace(/[\u0080-\u06ff]/g, (sign) => tokens[sign] ?? sign).split("\n"),
      wide: new Set(wide),
    };
  }
  const unpacked = unpack();

  const put = (line, markup, wide) => {
    line.innerHTML = markup;
    line.classList.remove("z", "g", "w");
    for (const name of ["tabindex", "role", "aria-label"]) line.removeAttribute(name);
    if (!wide) return;
    line.classList.add("w");
    line.tabIndex = 0;
    line.setAttribute("role", "group");
    line.setAttribute("aria-label", formulaWord);
  };

  /** Lines that stand there as text or as a link get their formula. */
  async function putFormulas() {
    const { markup, wide } = await unpacked;
    [...document.querySelectorAll(".z")].forEach((line, place) => put(line, markup[place], wide.has(place)));
    for (const line of document.querySelectorAll(".g")) {
      const original = document.getElementById(line.firstChild.hash.slice(1));
      put(line, original.innerHTML, original.classList.contains("w"));
    }
    words.clear();
  }

  async function copy(button) {
    const formula = button.parentElement.querySelector(FORMULA);
    const latex = (await unpacked).latex[[...document.querySelectorAll(FORMULA)].indexOf(formula)];
    try {
      await navigator.clipboard.writeText(latex);
      said.textContent = copiedWords;
    } catch {  // not allowed: it is shown, to be copied by hand
      said.textContent = latex;
    }
    setTimeout(() => { said.textContent = ""; }, 4000);
  }

  /** The numbers of lines, which the style sheet shows, become buttons. */
  function makeButtons() {
    for (const list of document.querySelectorAll(".rows")) {
      [...list.children].forEach((line, place) => {
        if (!line.querySelector(FORMULA)) return;
        const tag = document.createElement("b");
        tag.textContent = (list.dataset.tag ?? "") + (place + 1);
        tag.setAttribute("role", "button");
        tag.tabIndex = 0;
        tag.setAttribute("aria-label", copyWords.replace("{tag}", tag.textContent));
        line.prepend(tag);
      });
    }
  }
  const button = (event) => event.target.closest && event.target.closest("b[role=button]");
  const fold = (open) => () => {
    for (const part of document.querySelectorAll("article details")) part.open = open;
  };

  document.addEventListener("click", (event) => { if (button(event)) copy(button(event)); });
  document.addEventListener("keydown", (event) => {
    if (!button(event) || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    copy(button(event));
  });
  document.getElementById("unfold").addEventListener("click", fold(true));
  document.getElementById("fold").addEventListener("click", fold(false));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => {
    if (event.target.name === "m") document.documentElement.style.colorScheme = event.target.value;
    else filter();
  });
  addEventListener("hashchange", reveal);
  if (matchMedia("(max-width:71.99rem)").matches) document.querySelector("nav details").open = false;
  form.hidden = false;
  makeButtons();
  putFormulas();
  filter();
})();
