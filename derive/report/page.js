(() => {
  "use strict";
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

  async function unpack() {
    const text = document.getElementById("packed").textContent;
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }
  const unpacked = unpack();

  /** Lines that stand there as text get their formula. */
  async function putFormulas() {
    const markup = (await unpacked)[2];
    [...document.querySelectorAll(".z")].forEach((line, place) => {
      line.innerHTML = markup[place];
      line.classList.replace("z", "w");
      line.tabIndex = 0;
      line.setAttribute("role", "group");
      line.setAttribute("aria-label", formulaWord);
    });
    words.clear();
  }

  async function copy(button) {
    const formula = button.parentElement.querySelector(".f");
    const [table, places] = await unpacked;
    const latex = table[places[[...document.querySelectorAll(".f")].indexOf(formula)]];
    try {
      await navigator.clipboard.writeText(latex);
      said.textContent = copiedWords;
    } catch {  // not allowed: it is shown, to be copied by hand
      said.textContent = latex;
    }
    setTimeout(() => { said.textContent = ""; }, 4000);
  }

  function makeButtons() {
    for (const tag of document.querySelectorAll(".rows li:has(.f)>b")) {
      tag.setAttribute("role", "button");
      tag.tabIndex = 0;
      tag.setAttribute("aria-label", copyWords.replace("{tag}", tag.textContent));
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
