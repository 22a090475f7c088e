import { useSignal } from '@preact/signals'
import { copyText } from '../state/copy-text.ts'
import { failureText } from '../state/error-text.ts'
import { useConsole } from './console-context.ts'
import { NamedIcon } from './icons.tsx'

/** Exactly what the API answers, for those who want to see everything. It is written only when somebody opens it. */
export function RawJson({ value, look = 'card raw' }: { value: object; look?: string }) {
  const { notices } = useConsole()
  const isOpen = useSignal(false)
  const text = isOpen.value ? JSON.stringify(value, null, 2) : ''
  const copy = async () => {
    try {
      await copyText(text)
      notices.show('done', 'Copied')
    } catch (error) {
      notices.show('refused', 'Could not copy, so select it by hand', failureText(error))
    }
  }
  return (
    <details
      class={look}
      onToggle={event => {
        isOpen.value = event.currentTarget.open
      }}
    >
      <summary>Raw JSON</summary>
      <button type="button" class="button small" onClick={copy}>
        <NamedIcon name="copy" />
        Copy
      </button>
      <pre>{text}</pre>
    </details>
  )
}
