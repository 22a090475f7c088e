import type { Notice } from '../../state/notices.ts'
import { useConsole } from '../console-context.ts'
import { NamedIcon, StatusIcon } from '../icons.tsx'

export function NoticeList() {
  const { notices } = useConsole()
  return (
    <div class="notices" aria-live="polite">
      {notices.shown.value.map(notice => (
        <NoticeCard key={notice.id} notice={notice} />
      ))}
    </div>
  )
}

function NoticeCard({ notice }: { notice: Notice }) {
  const { notices } = useConsole()
  return (
    <div class={`notice ${notice.kind === 'refused' ? 'tone-red' : 'tone-green'}`}>
      <StatusIcon status={notice.kind === 'refused' ? 'FAILED' : 'RUNNING'} />
      <p>
        <strong>{notice.title}</strong>
        {notice.detail !== '' && <span class="notice-detail">{notice.detail}</span>}
      </p>
      <button type="button" class="button icon-only" onClick={() => notices.dismiss(notice.id)}>
        <NamedIcon name="close" />
        <span class="sr-only">Dismiss</span>
      </button>
    </div>
  )
}
