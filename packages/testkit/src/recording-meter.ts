import type { Labels, Meter } from '@lcm/runtime'

export interface RecordingMeter extends Meter {
  /** The value of a counter or gauge; undefined for a series that was never set. */
  value(name: string, labels?: Labels): number | undefined
  observations(name: string, labels?: Labels): readonly number[]
  names(): readonly string[]
}

export function recordingMeter(): RecordingMeter {
  const names: string[] = []
  const values = new Map<string, number>()
  const observed = new Map<string, number[]>()
  const register = (name: string) => {
    if (names.includes(name)) throw new Error(`${name} is registered twice`)
    names.push(name)
  }
  return {
    counter(name) {
      register(name)
      const add = (value = 1, labels?: Labels) => {
        const series = seriesOf(name, labels)
        values.set(series, (values.get(series) ?? 0) + value)
      }
      return { add, drop: labels => void values.delete(seriesOf(name, labels)) }
    },
    gauge(name) {
      register(name)
      return {
        set: (value, labels) => void values.set(seriesOf(name, labels), value),
        drop: labels => void values.delete(seriesOf(name, labels)),
      }
    },
    histogram(name) {
      register(name)
      return {
        observe: (value, labels) => void bucket(observed, seriesOf(name, labels)).push(value),
        drop: labels => void observed.delete(seriesOf(name, labels)),
      }
    },
    value: (name, labels) => values.get(seriesOf(name, labels)),
    observations: (name, labels) => observed.get(seriesOf(name, labels)) ?? [],
    names: () => names,
  }
}

function bucket(observed: Map<string, number[]>, series: string): number[] {
  const found = observed.get(series) ?? []
  observed.set(series, found)
  return found
}

const seriesOf = (name: string, labels: Labels = {}) =>
  [name, ...Object.entries(labels).map(([label, value]) => `${label}=${value}`)].sort().join(' ')
