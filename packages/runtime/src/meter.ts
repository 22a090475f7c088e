/** Where measurements go. The Prometheus adapter lives in the service package; instruments exist from the start, so zero is visible. */
export interface Meter {
  counter(name: string, help: string, labels?: readonly string[]): Counter
  gauge(name: string, help: string, labels?: readonly string[]): Gauge
  histogram(name: string, help: string, labels?: readonly string[]): Histogram
}

export type Labels = Readonly<Record<string, string>>
export interface Counter {
  add(value?: number, labels?: Labels): void
}
export interface Gauge {
  set(value: number, labels?: Labels): void
}
export interface Histogram {
  observe(value: number, labels?: Labels): void
}

export const silentMeter: Meter = {
  counter: () => ({ add: () => undefined }),
  gauge: () => ({ set: () => undefined }),
  histogram: () => ({ observe: () => undefined }),
}
