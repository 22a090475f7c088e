import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { chartSvg } from './chart-svg.ts'
import { resultsPage } from './results-page.ts'
import type { Results } from './results-types.ts'

/** Writes `results.md` and all charts from `results.json`. */
const bench = new URL('../', import.meta.url)
const results: Results = JSON.parse(readFileSync(new URL('results.json', bench), 'utf8'))
const charts = new URL('charts/', bench)
rmSync(charts, { recursive: true, force: true })
mkdirSync(charts)
for (const chart of Object.values(results).flatMap(({ report }) => report?.charts ?? []))
  writeFileSync(new URL(`${chart.name}.svg`, charts), chartSvg(chart))
const groups = readdirSync(new URL('figures/', bench))
const benches = groups.flatMap(group =>
  readdirSync(new URL(`figures/${group}/`, bench)).map(file => file.slice(0, -'.ts'.length)),
)
writeFileSync(new URL('results.md', bench), resultsPage(results, benches.sort()))
