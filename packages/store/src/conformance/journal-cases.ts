import { describe, expect, it } from 'vitest'
import type { JournalEntry } from '../store.ts'
import { aThing, at, entry, next, type StoreFixture } from './store-fixture.ts'

const own = (id: string, second: number, more: Partial<JournalEntry> = {}): JournalEntry => ({
  id,
  subject: 'thing:a',
  ...entry(id, second),
  ...more,
})

export function journalCases(fixture: StoreFixture): void {
  describe('journal', () => {
    it('has the entries of a write as soon as it returns, and only once', async () => {
      const a = aThing('a')
      await fixture.things().insert(a, [entry('made', 1), entry('seen', 1, 'decision')])
      await fixture.things().replace(next(a), [entry('changed', 2)])
      const expected = ['thing:a:2:0', 'thing:a:1:0']
      expect(await fixture.journal()).toEqual(expected)
      await fixture.publishAndFlush()
      expect(await fixture.journal()).toEqual(expected)
      expect(await fixture.journal('thing:a', ['decision', 'audit'])).toEqual([
        'thing:a:2:0',
        'thing:a:1:1',
        'thing:a:1:0',
      ])
      const [newest] = await fixture.store().journal.query({ streams: ['audit'], limit: 1 })
      expect(newest).toEqual({ ...entry('changed', 2), id: 'thing:a:2:0', subject: 'thing:a' })
    })

    it('keeps the entries of removed documents', async () => {
      for (const [kind, things] of Object.entries({ thing: fixture.things(), quiet: fixture.quiet() })) {
        await things.insert(aThing('a'), [entry('made', 1)])
        await things.remove(aThing('a'), [entry('gone', 2)])
        const expected = [`${kind}:a:2:0`, `${kind}:a:1:0`]
        expect(await fixture.journal(`${kind}:a`)).toEqual(expected)
        await fixture.publishAndFlush()
        expect(await fixture.journal(`${kind}:a`)).toEqual(expected)
      }
    })

    it('leaves out the entries of refused writes', async () => {
      await fixture.things().insert(aThing('a'), [entry('made', 1)])
      await fixture.things().insert(aThing('a'), [entry('again', 2)])
      await fixture.things().replace(next(next(aThing('a'))), [entry('stale', 3)])
      await fixture.things().insert(aThing('b', { serial: 's' }), [])
      await fixture.things().insert(aThing('c', { serial: 's' }), [entry('taken', 4)])
      await fixture.publishAndFlush()
      expect(await fixture.journal()).toEqual(['thing:a:1:0'])
      expect(await fixture.journal('thing:c')).toEqual([])
    })

    it('keeps the first entry of an id that is appended twice', async () => {
      const { journal } = fixture.store()
      await journal.append([own('x', 1), own('y', 2)])
      await journal.append([own('y', 2, { body: { text: 'other' } }), own('z', 3)])
      const found = await journal.query({ streams: ['audit'], limit: 9 })
      expect(found.map(each => each.id)).toEqual(['z', 'y', 'x'])
      expect(found[1]?.body).toEqual({ text: 'y' })
    })

    it('filters by stream, subject and time, newest first, in pages', async () => {
      const { journal } = fixture.store()
      await fixture.things().insert(aThing('a'), [entry('waiting', 3)])
      await journal.append([1, 2, 3, 4, 5].map(second => own(`e${second}`, second)))
      await journal.append([own('other', 9, { subject: 'thing:b' }), own('why', 9, { stream: 'decision' })])
      const ids = async (query: object) =>
        (await journal.query({ streams: ['audit'], limit: 99, ...query })).map(each => each.id)
      expect(await ids({})).toEqual(['other', 'e5', 'e4', 'thing:a:1:0', 'e3', 'e2', 'e1'])
      expect(await ids({ subject: 'thing:a', from: at(2), to: at(4) })).toEqual(['thing:a:1:0', 'e3', 'e2'])
      expect(await ids({ limit: 2 })).toEqual(['other', 'e5'])
      expect(await ids({ limit: 2, after: { at: at(5), id: 'e5' } })).toEqual(['e4', 'thing:a:1:0'])
      expect(await ids({ limit: 2, after: { at: at(3), id: 'thing:a:1:0' } })).toEqual(['e3', 'e2'])
      expect(await ids({ streams: ['decision', 'audit'], limit: 2 })).toEqual(['why', 'other'])
      expect(await ids({ streams: ['none'] })).toEqual([])
    })

    it('prunes entries older than the limit, a bounded number at a time', async () => {
      const { journal } = fixture.store()
      await journal.append([1, 2, 3, 4].map(second => own(`e${second}`, second)))
      await journal.append([own('why', 1, { stream: 'decision' })])
      expect(await journal.prune('audit', at(4), 2)).toBe(2)
      expect(await fixture.journal()).toEqual(['e4', 'e3'])
      expect(await journal.prune('audit', at(4), 9)).toBe(1)
      expect(await fixture.journal('thing:a', ['audit', 'decision'])).toEqual(['e4', 'why'])
    })
  })

  seriesCases(fixture)
}

function seriesCases(fixture: StoreFixture): void {
  const sample = (series: string, second: number, value = second) => ({ series, at: at(second), body: { value } })

  describe('series', () => {
    it('return samples newest first, one per instant', async () => {
      const { series } = fixture.store()
      await series.append([sample('a', 1), sample('a', 3), sample('b', 2)])
      await series.append([sample('a', 2), sample('a', 3, 33)])
      expect(await series.range({ series: 'a', limit: 9 })).toEqual([
        sample('a', 3, 33),
        sample('a', 2),
        sample('a', 1),
      ])
      expect(await series.range({ series: 'a', from: at(2), to: at(3), limit: 9 })).toEqual([sample('a', 2)])
      expect(await series.range({ series: 'a', limit: 1 })).toEqual([sample('a', 3, 33)])
      const newest = await series.newest(['a', 'b', 'c'])
      expect([...newest.entries()].sort()).toEqual([
        ['a', sample('a', 3, 33)],
        ['b', sample('b', 2)],
      ])
    })

    it('return recent samples of all series, oldest first', async () => {
      const { series } = fixture.store()
      await series.append([sample('a', 1), sample('b', 3), sample('a', 2), sample('c', 2)])
      expect(await series.recent(at(2), 9)).toEqual([sample('a', 2), sample('c', 2), sample('b', 3)])
      expect(await series.recent(at(1), 2)).toEqual([sample('a', 1), sample('a', 2)])
    })

    it('prune by age and drop a whole series', async () => {
      const { series } = fixture.store()
      await series.append([1, 2, 3].flatMap(second => [sample('a', second), sample('b', second)]))
      expect(await series.prune(at(3), 3)).toBe(3)
      expect(await series.prune(at(3), 9)).toBe(1)
      await series.drop('a')
      expect(await series.range({ series: 'a', limit: 9 })).toEqual([])
      expect(await series.range({ series: 'b', limit: 9 })).toEqual([sample('b', 3)])
    })

    it('change no document and wake no listener', async () => {
      await fixture.things().insert(aThing('a'))
      await fixture.publishAndFlush()
      let woken = 0
      const stop = fixture.store().announcements.onCommit(() => (woken += 1))
      await fixture.store().series.append([sample('thing:a', 1)])
      expect(woken).toBe(0)
      stop()
      expect(await fixture.store().announcements.pending(9)).toEqual([])
    })
  })
}
