import { useSignal } from '@preact/signals'
import { failureText } from '../state/failure-text.ts'
import { useConsole } from './console-context.ts'
import { copyText } from './copy-to-clipboard.ts'
import { NamedIcon } from './icons.tsx'

/** The resource as the API returned it. Serialized only while the section is open. */
export function RawJson({ value, className = 'card raw' }: { value: object; className?: string }) {
  const { notices } = useConsole()
  const isOpen = useSignal(false)
  const text = isOpen.value ? JSON.stringify(value, null, 2) : ''
  const copy = async () => {
    try {
      await copyText(text)
      notices.show('done', 'Copied')
    } catch (error) {
      notices.show('refused', 'Could not copy. Select the text instead.', failureText(error))
    }
  }
  return (
    <details
      class={className}
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
