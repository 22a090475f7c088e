/** Line charts as SVG. */
export interface Axis {
  readonly label: string
  readonly scale: 'linear' | 'log'
}

export interface Line {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number])[]
  /** Not measured, such as a fit. */
  readonly isGuide?: boolean
}

export interface Chart {
  /** File name without its extension. */
  readonly name: string
  readonly title: string
  readonly x: Axis
  readonly y: Axis
  readonly lines: readonly Line[]
  /** The bar. */
  readonly bar?: { readonly axis: 'x' | 'y'; readonly at: number; readonly label: string }
}

const WIDTH = 720
const HEIGHT = 360
/** Space for two rows of names above. */
const AREA = { left: 72, right: WIDTH - 20, top: 90, bottom: HEIGHT - 48 }
/** Colors that color-blind readers can distinguish. */
const COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#7a5c00', '#56b4e9']
const GUIDE = '#6e7781'
const CHARACTER = 6.6

interface Scale {
  readonly ticks: readonly number[]
  /** From 0 to 1 along the axis. */
  share(value: number): number
}

export function chartSvg(chart: Chart): string {
  const along = (axis: 'x' | 'y') => {
    const values = chart.lines.flatMap(({ points }) => points.map(([x, y]) => (axis === 'x' ? x : y)))
    return scaleOf(chart[axis].scale, chart.bar?.axis === axis ? [...values, chart.bar.at] : values)
  }
  const [xs, ys] = [along('x'), along('y')]
  const x = (value: number) => (AREA.left + xs.share(value) * (AREA.right - AREA.left)).toFixed(1)
  const y = (value: number) => (AREA.bottom - ys.share(value) * (AREA.bottom - AREA.top)).toFixed(1)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(chart.title)}</title>`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    `<text x="16" y="22" font-size="14" font-weight="bold">${escaped(chart.title)}</text>`,
    ...legend(chart.lines),
    ...ys.ticks.map(at => `<path d="M${AREA.left} ${y(at)}H${AREA.right}" stroke="#d0d7de"/>`),
    ...ys.ticks.map(at => `<text x="${AREA.left - 8}" y="${Number(y(at)) + 4}" text-anchor="end">${short(at)}</text>`),
    ...xs.ticks.map(at => `<path d="M${x(at)} ${AREA.bottom}v5" stroke="#57606a"/>`),
    ...xs.ticks.map(at => `<text x="${x(at)}" y="${AREA.bottom + 19}" text-anchor="middle">${short(at)}</text>`),
    `<text x="${AREA.right}" y="${HEIGHT - 8}" text-anchor="end" fill="#57606a">${escaped(chart.x.label)}</text>`,
    `<text x="16" y="${AREA.top - 14}" fill="#57606a">${escaped(chart.y.label)}</text>`,
    ...barOf(chart, { x, y }),
    ...chart.lines.map((line, index) => drawn(line, index, { x, y })),
    '</svg>\n',
  ].join('\n')
}

interface Place {
  readonly x: (value: number) => string
  readonly y: (value: number) => string
}

function drawn({ points, isGuide }: Line, index: number, { x, y }: Place): string {
  const at = points.map(([px, py]) => `${x(px)},${y(py)}`)
  const path = `<polyline fill="none" points="${at.join(' ')}" ${strokeOf(index, isGuide)}/>`
  // Few points: each was measured separately.
  const dots = points.length > 12 || isGuide ? [] : at.map(each => each.split(','))
  return [path, ...dots.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3.5" fill="${colorOf(index)}"/>`)].join('')
}

const colorOf = (index: number) => COLORS[index % COLORS.length]
const strokeOf = (index: number, isGuide = false): string =>
  isGuide
    ? `stroke="${GUIDE}" stroke-width="1.5" stroke-dasharray="6 4"`
    : `stroke="${colorOf(index)}" stroke-width="2"`

const LEGEND = { left: 16, top: 40, row: 18 }

/** A line without a name belongs to the previous one. */
function legend(lines: readonly Line[]): string[] {
  let [x, y] = [LEGEND.left, LEGEND.top]
  return lines.map(({ name, isGuide }, index) => {
    if (name === '') return ''
    const width = 40 + name.length * CHARACTER
    if (x + width > AREA.right) [x, y] = [LEGEND.left, y + LEGEND.row]
    const at = x
    x += width
    return `<path d="M${at} ${y}h18" ${strokeOf(index, isGuide)}/><text x="${at + 24}" y="${y + 4}">${escaped(name)}</text>`
  })
}

function barOf({ bar }: Chart, { x, y }: Place): string[] {
  if (bar === undefined) return []
  const isAcross = bar.axis === 'y'
  const path = isAcross ? `M${AREA.left} ${y(bar.at)}H${AREA.right}` : `M${x(bar.at)} ${AREA.top}V${AREA.bottom}`
  const [tx, ty] = isAcross ? [AREA.right, Number(y(bar.at)) - 5] : [Number(x(bar.at)) - 5, AREA.bottom - 8]
  return [
    `<path d="${path}" stroke="#24292f" stroke-dasharray="2 3"/>`,
    `<text x="${tx}" y="${ty}" text-anchor="end">${escaped(bar.label)}</text>`,
  ]
}

function scaleOf(kind: Axis['scale'], values: readonly number[]): Scale {
  return kind === 'log' ? logScale(values.filter(value => value > 0)) : linearScale(values)
}

const STEPS = [1, 2, 5, 10]

/** From 0, or from a lower value. */
function linearScale(values: readonly number[]): Scale {
  const [low, high] = [Math.min(0, ...values), Math.max(...values, 1e-9)]
  const rough = (high - low) / 5
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = power * (STEPS.find(each => each * power >= rough) ?? 10)
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step)]
  const ticks = Array.from({ length: last - first + 1 }, (_, n) => Number(((first + n) * step).toPrecision(12)))
  return { ticks, share: value => (value - first * step) / ((last - first) * step) }
}

/** Powers of ten, with intermediate values if there are few. */
function logScale(values: readonly number[]): Scale {
  const low = Math.floor(Math.log10(Math.min(...values)) + 1e-9)
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values)) - 1e-9))
  const between = high - low <= 3 ? [1, 2, 5] : [1]
  const powers = Array.from({ length: high - low + 1 }, (_, n) => 10 ** (low + n))
  const ticks = powers.flatMap(power => between.map(each => each * power)).filter(tick => tick <= 10 ** high * 1.001)
  const share = (value: number) => (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low)
  return { ticks: ticks.map(tick => Number(tick.toPrecision(12))), share }
}

const short = (value: number): string => value.toLocaleString('en-US', { maximumSignificantDigits: 4 })
const escaped = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
