import { writeFileSync } from 'node:fs'

/** Sorted copy, so that `quantile` can be asked of it. */
export const sorted = (values: readonly number[]): readonly number[] => values.toSorted((a, b) => a - b)
export const quantile = (ordered: readonly number[], q: number): number =>
  ordered[Math.min(ordered.length - 1, Math.floor(q * ordered.length))] ?? 0

const WIDTH = 640
const HEIGHT = 300
const LEFT = 48
const BOTTOM = 36
const COLORS = ['#1f6feb', '#d1242f', '#2da44e']

/** Draws how much of each series lies below each time: one line per series, milliseconds along the bottom. */
export function writeCdfChart(file: URL, title: string, series: Readonly<Record<string, readonly number[]>>): void {
  const maxMs = Math.max(...Object.values(series).map(values => quantile(sorted(values), 0.999))) * 1.1
  const x = (ms: number) => LEFT + (Math.min(ms, maxMs) / maxMs) * (WIDTH - LEFT - 16)
  const y = (share: number) => HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - 40)
  const lines = Object.entries(series).map(([name, values], index) => {
    const ordered = sorted(values)
    const points = Array.from(
      { length: 101 },
      (_, i) => `${x(quantile(ordered, i / 100)).toFixed(1)},${y(i / 100).toFixed(1)}`,
    )
    const color = COLORS[index % COLORS.length]
    const legend = `<text x="${LEFT + 12 + index * 200}" y="34" fill="${color}">${name}</text>`
    return `<polyline fill="none" stroke="${color}" stroke-width="2" points="${points.join(' ')}"/>${legend}`
  })
  const ticks = [0, 0.25, 0.5, 0.75, 1].map(share => {
    const ms = share * maxMs
    return [
      `<text x="${x(ms)}" y="${HEIGHT - 14}" text-anchor="middle">${ms.toFixed(1)} ms</text>`,
      `<text x="${LEFT - 6}" y="${y(share) + 4}" text-anchor="end">${share * 100}%</text>`,
      `<line x1="${LEFT}" x2="${WIDTH - 16}" y1="${y(share)}" y2="${y(share)}" stroke="#8884"/>`,
    ].join('')
  })
  const svg = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<title>${title}</title>`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    `<text x="${LEFT}" y="18" font-weight="bold">${title}</text>`,
    ...ticks,
    ...lines,
    '</svg>\n',
  ].join('\n')
  writeFileSync(file, svg)
}
