export interface Fit {
  readonly slope: number
  readonly intercept: number
  /** Standard error of the slope. Consecutive samples are correlated, so they count as fewer. */
  readonly standardError: number
}

/** The straight line through points, by least squares. */
export function leastSquares(points: readonly (readonly [x: number, y: number])[]): Fit {
  const n = points.length
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))]
  const spread = sum(points.map(([x]) => (x - meanX) ** 2))
  const slope = sum(points.map(([x, y]) => (x - meanX) * (y - meanY))) / spread
  const intercept = meanY - slope * meanX
  const left = points.map(([x, y]) => y - intercept - slope * x)
  const variance = sum(left.map(each => each ** 2)) / Math.max(1, n - 2)
  // Two points are always on a line.
  const standardError = n < 3 ? Number.POSITIVE_INFINITY : Math.sqrt((variance / spread) * repetition(left))
  return { slope, intercept, standardError }
}

/** Number of correlated measurements that count as one independent measurement. */
function repetition(left: readonly number[]): number {
  const squares = sum(left.map(each => each ** 2))
  if (squares === 0) return 1
  const neighbors = sum(left.slice(1).map((each, index) => each * (left[index] ?? 0)))
  const alike = Math.min(0.99, Math.max(0, neighbors / squares))
  return (1 + alike) / (1 - alike)
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0)
const mean = (values: readonly number[]): number => sum(values) / values.length
