import type { Signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

interface TextFieldProps {
  readonly label: ComponentChildren
  /** Shown muted after the label. */
  readonly note?: string
  readonly value: Signal<string>
  /** Masks the input. */
  readonly isSecret?: boolean
  readonly maxLength?: number
  readonly placeholder?: string
  readonly inputmode?: 'numeric'
  /** `off` unless a password manager should fill it in. */
  readonly autocomplete?: 'current-password'
}

export const TextField = ({ label, note, value, isSecret = false, ...more }: TextFieldProps) => (
  <label class="field">
    <span>
      {label}
      {note !== undefined && <span class="muted"> {note}</span>}
    </span>
    <input
      {...(isSecret ? { type: 'password' } : { type: 'text' })}
      autocomplete="off"
      autocapitalize="off"
      spellcheck={false}
      {...more}
      value={value}
      onInput={event => {
        value.value = event.currentTarget.value
      }}
    />
  </label>
)

interface SelectFieldProps<T extends string> {
  readonly label: string
  readonly chosen: Signal<T>
  readonly options: readonly T[]
  /** Shown when there are no options. */
  readonly none?: string
}

export const SelectField = <T extends string>({ label, chosen, options, none }: SelectFieldProps<T>) => (
  <label class="field">
    <span>{label}</span>
    <select
      value={chosen}
      onChange={event => {
        chosen.value = options.find(option => option === event.currentTarget.value) ?? chosen.value
      }}
    >
      {options.length === 0 && none !== undefined && <option value="">{none}</option>}
      {options.map(option => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  </label>
)
