type Health = Readonly<Record<string, boolean | number | string>>

/** One check of CML in words; `isWell` is null for what is neither good nor bad. */
export interface HealthLine {
  readonly name: string
  readonly isWell: boolean | null
  readonly text: string
}

/** Names that are not what people would say. */
const NAMES: Readonly<Record<string, string>> = { kvm_vmx_enabled: 'KVM enabled', enough_cpus: 'enough CPUs' }

/** What is wrong comes first. */
export const healthLines = (health: Health): HealthLine[] =>
  Object.entries(health)
    .map(([key, value]) => ({
      name: NAMES[key] ?? key.replace(/^is_/, '').replaceAll('_', ' '),
      isWell: typeof value === 'boolean' ? value : null,
      text: typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value),
    }))
    .toSorted((a, b) => Number(a.isWell !== false) - Number(b.isWell !== false))
