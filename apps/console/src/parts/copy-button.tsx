import { failureText } from '../state/failure-text.ts'
import { useConsole } from './console-context.ts'
import { copyText } from './copy-to-clipboard.ts'
import { NamedIcon } from './icons.tsx'

/** `what` completes the accessible name "Copy …". */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const { notices } = useConsole()
  const copy = async () => {
    try {
      await copyText(text)
      notices.show('done', 'Copied', text)
    } catch (error) {
      notices.show('refused', 'Could not copy. Select the text instead.', failureText(error))
    }
  }
  return (
    <button type="button" class="button small copy" onClick={copy}>
      <NamedIcon name="copy" />
      Copy<span class="sr-only"> {what}</span>
    </button>
  )
}
