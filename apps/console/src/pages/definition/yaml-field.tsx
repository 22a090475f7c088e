import { useEffect, useRef } from 'preact/hooks'
import { useConsole } from '../../parts/console-context.ts'
import { failureText } from '../../state/failure-text.ts'
import { gutterOf, rangeOfLine } from './yaml-lines.ts'

interface YamlProps {
  readonly text: string
  /** Errors by line. */
  readonly wrong: ReadonlyMap<number, string>
  /** `file` is the name of the source file; null for typed text. */
  readonly onText: (text: string, file: string | null) => void
}

const LINE_PX = 18
const LINES_ABOVE = 3

/** Text area with line numbers. The cursor moves to the first line with an error. */
export function YamlField({ text, wrong, onText }: YamlProps) {
  const area = useRef<HTMLTextAreaElement>(null)
  const gutter = useRef<HTMLPreElement>(null)
  const [first] = [...wrong.keys()].toSorted((a, b) => a - b)
  useEffect(() => {
    const shown = area.current
    if (first === undefined || shown === null) return
    const [from, to] = rangeOfLine(shown.value, first)
    shown.focus()
    shown.setSelectionRange(from, to)
    shown.scrollTop = Math.max(0, first - 1 - LINES_ABOVE) * LINE_PX
  }, [first])
  return (
    <div class="field">
      <label for="yaml">
        YAML <span class="muted">as CML exports it</span>
      </label>
      <div class={`yaml ${first === undefined ? '' : 'wrong'}`}>
        <pre ref={gutter} class="yaml-gutter" aria-hidden="true">
          {gutterOf(text, new Set(wrong.keys())).map((part, index) => (
            <span key={index} class={part.isWrong ? 'wrong-line' : ''}>
              {part.text}
            </span>
          ))}
        </pre>
        <textarea
          ref={area}
          id="yaml"
          rows={12}
          wrap="off"
          spellcheck={false}
          autocomplete="off"
          aria-invalid={first !== undefined}
          value={text}
          onInput={event => onText(event.currentTarget.value, null)}
          onScroll={event => {
            if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop
          }}
        />
      </div>
      <FileButton onText={onText} />
    </div>
  )
}

function FileButton({ onText }: Pick<YamlProps, 'onText'>) {
  const { notices } = useConsole()
  const read = async (file: File | undefined) => {
    if (file === undefined) return
    try {
      onText(await file.text(), file.name)
    } catch (error) {
      notices.show('refused', `Could not read ${file.name}`, failureText(error))
    }
  }
  return (
    <label class="file-field">
      <span class="muted">or choose a file</span>
      <input
        type="file"
        accept=".yaml,.yml,application/yaml"
        // Browsers fire no change event for the same file, which may have been edited since.
        onClick={event => {
          event.currentTarget.value = ''
        }}
        onChange={event => read(event.currentTarget.files?.[0])}
      />
    </label>
  )
}
