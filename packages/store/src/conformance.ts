import { describe, expect, it } from 'vitest'
import { blobCases } from './conformance/blob-cases.ts'
import { changeCases, feedCases } from './conformance/change-cases.ts'
import { crashCases } from './conformance/crash-cases.ts'
import { documentCases } from './conformance/document-cases.ts'
import { journalCases } from './conformance/journal-cases.ts'
import { aThing, entry, next, type OpenStore, storeFixture } from './conformance/store-fixture.ts'
import { upgradeCases } from './conformance/upgrade-cases.ts'

export type { CrashableStore, OpenedStore } from './conformance/store-fixture.ts'

/** Cases that every store adapter must pass. `feed`: whether the adapter has a change feed. */
export function storeConformance(adapter: string, open: OpenStore, { feed }: { feed: boolean }): void {
  describe(`store conformance: ${adapter}`, () => {
    const fixture = storeFixture(open)
    documentCases(fixture)
    journalCases(fixture)
    changeCases(fixture)
    if (feed) feedCases(fixture)
    else it('has no change feed', () => expect(fixture.store().changes).toBeNull())
    crashCases(fixture)
    blobCases(fixture)
    upgradeCases(open)

    it('keeps everything over a restart', async () => {
      const a = aThing('a', { serial: 's1' })
      await fixture.things().insert(a, [entry('made')])
      await fixture.things().replace(next(a, { name: 'later' }))
      await fixture.store().series.append([{ series: 'thing:a', at: '2026-01-01T00:00:00.000Z', body: { value: 1 } }])
      await fixture.reopen()
      expect((await fixture.things().get('a'))?.name).toBe('later')
      expect(await fixture.things().insert(aThing('b', { serial: 's1' }))).toMatchObject({ reason: 'taken' })
      expect(await fixture.journal()).toEqual(['thing:a:1:0'])
      expect(await fixture.store().series.range({ series: 'thing:a', limit: 9 })).toHaveLength(1)
    })
  })
}
