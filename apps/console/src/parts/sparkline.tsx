const WIDTH = 64
const HEIGHT = 18

interface SparklineProps {
  readonly values: readonly (number | null)[]
  readonly max: number
  /** Accessible name, such as `CPU 41 %`. */
  readonly label: string
}

/** A tiny line chart. Missing values interrupt the line. */
export const Sparkline = ({ values, max, label }: SparklineProps) => (
  <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img" aria-label={label}>
    <path d={sparkPath(values, max)} />
  </svg>
)

export function sparkPath(values: readonly (number | null)[], max: number): string {
  const stepX = WIDTH / Math.max(1, values.length - 1)
  let isDrawing = false
  const parts: string[] = []
  values.forEach((value, index) => {
    if (value === null) {
      isDrawing = false
      return
    }
    const y = HEIGHT - 1 - (Math.min(value, max) / max) * (HEIGHT - 2)
    parts.push(`${isDrawing ? 'L' : 'M'}${(index * stepX).toFixed(1)} ${y.toFixed(1)}`)
    isDrawing = true
  })
  return parts.join('')
}
