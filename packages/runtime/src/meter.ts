/**
 * Receives measurements. The Prometheus adapter lives in the service package; instruments exist from the start, so zero
 * is visible.
 */
export interface Meter {
  counter(name: string, help: string, labels?: readonly string[]): Counter
  gauge(name: string, help: string, labels?: readonly string[]): Gauge
  histogram(name: string, help: string, labels?: readonly string[]): Histogram
}

export type Labels = Readonly<Record<string, string>>
/** Removes series of deleted resources, which would otherwise be shown forever. */
interface Forgetful {
  /** Removes the series with exactly these labels. */
  drop(labels: Labels): void
}
export interface Counter extends Forgetful {
  add(value?: number, labels?: Labels): void
}
export interface Gauge extends Forgetful {
  set(value: number, labels?: Labels): void
}
export interface Histogram extends Forgetful {
  observe(value: number, labels?: Labels): void
}

export const silentMeter: Meter = {
  counter: () => ({ add: () => undefined, drop: () => undefined }),
  gauge: () => ({ set: () => undefined, drop: () => undefined }),
  histogram: () => ({ observe: () => undefined, drop: () => undefined }),
}
