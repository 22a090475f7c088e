/** The colors of the console; only methods are colored. Every pair has a contrast of at least 4.5:1. */
export const STYLE = `:root {
  color-scheme: light dark;
  --paper: light-dark(#f6f7f9, #0f1216);
  --surface: light-dark(#ffffff, #161a20);
  --sunken: light-dark(#f1f3f6, #0b0e12);
  --line: light-dark(#e2e5ea, #262c35);
  --line-strong: light-dark(#878f9c, #6b7480);
  --ink: light-dark(#14181f, #e8ebf0);
  --soft: light-dark(#565f6d, #9aa4b2);
  --link: light-dark(#0b4fa3, #90c4ff);
  --green: light-dark(#0f6130, #74dd92);
  --green-wash: light-dark(#def5e5, #12301d);
  --blue: light-dark(#0b4fa3, #90c4ff);
  --blue-wash: light-dark(#e0eefe, #10294a);
  --orange: light-dark(#8a4200, #ffb56b);
  --orange-wash: light-dark(#ffedd9, #38240f);
  --red: light-dark(#a8121f, #ff9c9c);
  --red-wash: light-dark(#fee5e5, #421619);
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
*, *::before, *::after { box-sizing: border-box; }
[hidden] { display: none !important; }
html { scroll-padding-top: 64px; }
body {
  margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.55 var(--sans);
  -webkit-text-size-adjust: 100%;
}
h1, h2, h3, p, ul, ol, dl, dd, pre, figure { margin: 0; padding: 0; }
ul { list-style: none; }
h1 { margin-bottom: 28px; font-size: 28px; line-height: 1.2; letter-spacing: -0.015em; }
h2 { margin-bottom: 6px; font-size: 21px; line-height: 1.25; letter-spacing: -0.01em; }
h3 { margin: 18px 0 8px; font-size: 15px; }
.halves h3 { margin: 18px 0 6px; color: var(--soft); font-size: 12px; letter-spacing: 0.05em; text-transform: uppercase; }
a { color: var(--link); text-underline-offset: 3px; text-decoration-thickness: 1px; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
code { font: 0.92em var(--mono); overflow-wrap: anywhere; }
p code, dd > code, .type code, .others code { padding: 1px 4px; border-radius: 4px; background: var(--sunken); }
.skip {
  position: absolute; top: 8px; left: 8px; z-index: 3; padding: 6px 12px; background: var(--surface);
  transform: translateY(-60px);
}
.skip:focus { transform: none; }
.bar {
  position: sticky; top: 0; z-index: 2; display: flex; gap: 14px; align-items: center; height: 48px;
  padding: 0 24px; border-bottom: 1px solid var(--line); background: var(--surface);
}
.brand { color: var(--ink); font-weight: 650; text-decoration: none; white-space: nowrap; }
.soft { color: var(--soft); white-space: nowrap; }
.machine { margin-left: auto; font-size: 13px; }
.columns {
  display: grid; grid-template-columns: 220px minmax(0, 1fr); gap: 40px; max-width: 1320px; margin: 0 auto;
  padding: 0 24px;
}
nav {
  position: sticky; top: 48px; align-self: start; max-height: calc(100vh - 48px); padding: 24px 4px;
  overflow-y: auto;
}
nav ul { padding: 8px 0; border-bottom: 1px solid var(--line); }
nav ul:last-child { border: 0; }
nav a { display: block; padding: 3px 8px; border-radius: 5px; color: var(--ink); text-decoration: none; }
nav a:hover { background: var(--line); }
.filter { padding-bottom: 8px; }
.filter ::placeholder { color: var(--soft); opacity: 1; }
.filter label { display: block; color: var(--soft); font-size: 12px; }
.filter input {
  width: 100%; height: 34px; padding: 0 10px; border: 1px solid var(--line-strong); border-radius: 7px;
  background: var(--surface); color: var(--ink); font: inherit;
}
#filter-count { color: var(--soft); font-size: 12px; }
main { min-width: 0; padding: 32px 0 96px; }
section { margin-bottom: 44px; }
section > p { max-width: 72ch; margin-bottom: 12px; }
.steps { padding-left: 22px; }
.steps li { margin-bottom: 18px; }
.steps li::marker { color: var(--soft); font-weight: 650; }
.sample { margin: 6px 0 14px; border: 1px solid var(--line); border-radius: 8px; background: var(--sunken); overflow: hidden; }
figcaption {
  display: flex; gap: 6px; align-items: center; min-height: 34px; padding: 3px 6px 3px 14px;
  border-bottom: 1px solid var(--line); color: var(--soft); font-size: 12px;
}
figcaption button:first-of-type { margin-left: auto; }
.sample pre { max-height: 420px; padding: 10px 14px; overflow: auto; line-height: 1.5; outline-offset: -2px; }
.sample pre code { font-size: 13px; overflow-wrap: normal; }
.sample pre.live { border-top: 1px dashed var(--line-strong); font: 13px/1.5 var(--mono); }
button {
  min-height: 26px; padding: 0 10px; border: 1px solid var(--line-strong); border-radius: 6px;
  background: var(--surface); color: var(--ink); font: 550 12px/1 var(--sans); cursor: pointer;
}
button:hover { background: var(--line); }
button:disabled { color: var(--soft); cursor: progress; }
.pairs { display: grid; grid-template-columns: 190px minmax(0, 72ch); gap: 10px 24px; }
dt { font-weight: 600; }
.pairs dt code { font-weight: 400; }
.operation, .schema {
  margin: 6px 0; border: 1px solid var(--line); border-radius: 8px; background: var(--surface);
  scroll-margin-top: 60px;
}
summary {
  display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: center; padding: 9px 14px; border-radius: 8px;
  cursor: pointer; list-style: none;
}
summary::-webkit-details-marker { display: none; }
summary::after { content: "+"; margin-left: auto; color: var(--soft); font: 16px/1 var(--mono); }
details[open] > summary::after { content: "\\2212"; }
summary:hover { background: var(--sunken); }
.method { width: 62px; padding: 2px 0; border-radius: 5px; font: 650 11px/18px var(--mono); text-align: center; }
.get { background: var(--blue-wash); color: var(--blue); }
.post { background: var(--green-wash); color: var(--green); }
.put, .patch { background: var(--orange-wash); color: var(--orange); }
.delete { background: var(--red-wash); color: var(--red); }
.path { font-size: 14px; font-weight: 600; }
.what { color: var(--soft); font-weight: 400; }
.halves {
  display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 28px; padding: 4px 16px 18px;
  border-top: 1px solid var(--line);
}
.halves > div > :first-child { margin-top: 12px; }
.who span { color: var(--soft); }
.fields > li { padding: 6px 0; border-top: 1px solid var(--line); }
.fields > li:first-child { border-top: 0; }
.fields .fields { margin: 4px 0 0 4px; padding-left: 14px; border-left: 2px solid var(--line); }
.name { font-weight: 600; }
.type { color: var(--soft); font-size: 13px; }
.required { color: var(--orange); font-size: 12px; }
.complete > .fields > li > .required { display: none; }
.fields p { font-size: 14px; }
.schema > .fields { padding: 2px 16px 10px; border-top: 1px solid var(--line); }
.problems li { padding: 2px 0; }
.status { color: var(--soft); font: 600 12px var(--mono); }
.others { margin-top: 4px; color: var(--soft); font-size: 13px; line-height: 1.9; }
.problem {
  padding: 10px 14px; border-left: 3px solid transparent; border-bottom: 1px solid var(--line);
  scroll-margin-top: 60px;
}
.problem h3 { margin: 0 0 2px; }
.problem p { max-width: 76ch; }
:target.problem, :target.operation, :target.schema { border-color: var(--link); }
@media (max-width: 1000px) { .halves { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 760px) {
  .bar { padding: 0 16px; }
  .machine { display: none; }
  .columns { display: block; padding: 0 16px; }
  nav { position: static; max-height: none; padding: 16px 0 0; overflow: visible; }
  nav ul { display: flex; gap: 6px; padding: 4px 0; border: 0; overflow-x: auto; white-space: nowrap; }
  nav a { padding: 5px 9px; background: var(--surface); border: 1px solid var(--line); }
  .filter input { height: 40px; font-size: 16px; }
  main { padding-top: 20px; }
  .pairs { display: block; }
  dd { margin-bottom: 12px; }
  .what { flex-basis: 100%; }
  summary { position: relative; padding-right: 34px; }
  summary::after { position: absolute; top: 12px; right: 14px; }
}
@media print { nav, button { display: none; } .columns { display: block; } .sample pre { max-height: none; } }
`
