import type { Clock } from '@lcm/runtime/clock'
import { type ReadonlySignal, signal } from '@preact/signals'

export interface Notice {
  readonly id: number
  readonly kind: 'done' | 'refused'
  readonly title: string
  readonly detail: string
}

export interface Notices {
  readonly shown: ReadonlySignal<readonly Notice[]>
  /** Errors stay until dismissed; other notices disappear after a few seconds. */
  show(kind: Notice['kind'], title: string, detail?: string): void
  dismiss(id: number): void
}

const SHOWN_MAX = 4
const DONE_MS = 6_000

export function noticeBoard(clock: Clock): Notices {
  const shown = signal<readonly Notice[]>([])
  let count = 0
  /** Drops the oldest success notice or, without one, the oldest notice when the list is full. */
  const trimmed = (before: readonly Notice[]): readonly Notice[] => {
    const leaving = before.find(({ kind }) => kind === 'done') ?? before[0]
    return before.length < SHOWN_MAX ? before : before.filter(notice => notice !== leaving)
  }
  const dismiss = (id: number) => {
    shown.value = shown.value.filter(notice => notice.id !== id)
  }
  return {
    shown,
    dismiss,
    show(kind, title, detail = '') {
      const id = ++count
      shown.value = [...trimmed(shown.value), { id, kind, title, detail }]
      if (kind === 'done') clock.after(DONE_MS, () => dismiss(id))
    },
  }
}
