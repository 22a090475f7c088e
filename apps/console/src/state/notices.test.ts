import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { noticeBoard } from './notices.ts'

describe('notices', () => {
  it('of success disappear automatically; refusals stay until dismissed', async () => {
    const clock = manualClock()
    const notices = noticeBoard(clock)
    notices.show('done', 'Copied')
    notices.show('refused', 'No', 'because')
    await clock.advance(6_000)
    expect(notices.shown.value.map(notice => notice.title)).toEqual(['No'])
    notices.dismiss(notices.shown.value[0]?.id ?? 0)
    expect(notices.shown.value).toEqual([])
  })

  it('of success are dropped first, so that an error is not lost unread', () => {
    const notices = noticeBoard(manualClock())
    notices.show('refused', 'No')
    for (const n of [1, 2, 3, 4]) notices.show('done', `Copied ${n}`)
    expect(notices.shown.value.map(notice => notice.title)).toEqual(['No', 'Copied 2', 'Copied 3', 'Copied 4'])
  })

  it('never fill the screen', () => {
    const notices = noticeBoard(manualClock())
    for (const n of [1, 2, 3, 4, 5, 6]) notices.show('refused', `No ${n}`)
    expect(notices.shown.value.map(notice => notice.title)).toEqual(['No 3', 'No 4', 'No 5', 'No 6'])
  })
})
