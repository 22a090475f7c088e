import { describe, expect, it } from 'vitest'
import { aThing, entry, freshStore, next, type Open } from './conformance/bench.ts'
import { changeCases, feedCases } from './conformance/change-cases.ts'
import { documentCases } from './conformance/document-cases.ts'
import { journalCases } from './conformance/journal-cases.ts'
import { killCases } from './conformance/kill-cases.ts'

export type { DyingStore, Opened } from './conformance/bench.ts'

/** What every store adapter must do. `feed`: whether it orders its commits itself. */
export function storeConformance(adapter: string, open: Open, { feed }: { feed: boolean }): void {
  describe(`store conformance: ${adapter}`, () => {
    const bench = freshStore(open)
    documentCases(bench)
    journalCases(bench)
    changeCases(bench)
    if (feed) feedCases(bench)
    else it('has no feed of its own', () => expect(bench.store().changes).toBeNull())
    killCases(bench)

    it('holds everything over a restart', async () => {
      const a = aThing('a', { serial: 's1' })
      await bench.things().insert(a, [entry('made')])
      await bench.things().replace(next(a, { name: 'later' }))
      await bench.store().series.append([{ series: 'thing:a', at: '2026-01-01T00:00:00.000Z', body: { value: 1 } }])
      await bench.reopen()
      expect((await bench.things().get('a'))?.name).toBe('later')
      expect(await bench.things().insert(aThing('b', { serial: 's1' }))).toMatchObject({ reason: 'taken' })
      expect(await bench.journal()).toEqual(['thing:a:1:0'])
      expect(await bench.store().series.range({ series: 'thing:a', limit: 9 })).toHaveLength(1)
    })
  })
}
