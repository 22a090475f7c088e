import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aNotification, aSave, aTarget } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { aDefinition, aSession, aTemplate, aWorker } from '../testing/resource-builders.ts'

/** Completions of these words, of which the last is incomplete. */
async function offered(...words: string[]): Promise<string[]> {
  const { shell, outLines, err, api } = capturedShell()
  api.put(aWorker({ name: 'metal-1' }))
  api.put(aWorker({ id: 'w-0abcdefgh0002', name: 'old', status: 'TERMINATED', desired_status: 'TERMINATED' }))
  api.putTemplate(aTemplate({ name: 'metal' }))
  api.definitions.put(aDefinition())
  api.sessions.put(aSession())
  api.seed(() => api.plane.put('saves', { ...aSave(), sealed_key: '', needed_by: [] }))
  api.seed(() => api.plane.put('notificationTargets', aTarget({ name: 'ops' })))
  api.seed(() => api.plane.put('notifications', aNotification({ id: 'no-1', status: 'DEAD' })))
  expect(await run(['__complete', '--', ...words], shell)).toBe(0)
  expect(err()).toBe('')
  return outLines()
}

it('offers commands, nouns and options', async () => {
  expect(await offered('st')).toEqual(['start', 'stop'])
  expect(await offered('')).toEqual(expect.arrayContaining(['up', 'get', 'doctor', 'apply']))
  expect(await offered('')).not.toContain('__complete')
  expect(await offered('get', 'w')).toEqual(['workers', 'worker'])
  expect(await offered('retry', '')).toEqual(expect.arrayContaining(['worker', 'session']))
  expect(await offered('extend', 'session', '--m')).toEqual(['--minutes'])
  expect(await offered('terminate', 'worker', 'metal-1', '--y')).toEqual(['--yes'])
  expect(await offered('get', 'workers', '--u')).toEqual(['--url'])
  expect(await offered('get', 'workers', '-o', '')).toEqual(['table', 'json', 'yaml', 'name'])
  expect(await offered('get', 'workers', '--output=j')).toEqual(['--output=json'])
  expect(await offered('get', 'workers', '--output', '=', 'j')).toEqual(['json'])
  expect(await offered('get', 'workers', '--watch=')).toEqual([])
  expect(await offered('completion', '')).toEqual(['bash', 'zsh', 'fish'])
  expect(await offered('serve', 'c')).toEqual(['control-plane-api'])
})

it('offers the names of existing resources', async () => {
  expect(await offered('stop', 'worker', '')).toEqual(['metal-1'])
  expect(await offered('get', 'worker', 'm')).toEqual(['metal-1'])
  expect(await offered('get', '--watch', 'workers', '')).toEqual(['metal-1'])
  expect(await offered('book', 't')).toEqual(['two-routers'])
  expect(await offered('create', 'worker', '--template', '')).toEqual(['metal'])
  expect(await offered('create', 'worker', '--template=')).toEqual(['--template=metal'])
  expect(await offered('get', 'templates', '')).toEqual(['metal'])
  expect(await offered('stop', 'worker', 'metal-1', '')).toEqual([])
  expect(await offered('book', '--resume', '')).toEqual(['sv-1'])
  expect(await offered('download', 'save', '')).toEqual(['sv-1'])
  expect(await offered('get', 'saves', '--session', '')).toEqual(['ls-1'])
  expect(await offered('test', 'target', '')).toEqual(['ops'])
  expect(await offered('retry', 'notification', '')).toEqual(['no-1'])
})

it('asks the LCM named by earlier options, in any notation', async () => {
  const urlsFor = async (...words: string[]) => {
    const { shell } = capturedShell()
    const urls: string[] = []
    const transport: typeof shell.transport = url => {
      urls.push(url)
      return shell.transport(url)
    }
    await run(['__complete', '--', ...words, 'stop', 'worker', ''], { ...shell, transport })
    return urls
  }
  expect(await urlsFor('--url', 'http://there:1')).toEqual(['http://there:1'])
  expect(await urlsFor('--url=http://there:1')).toEqual(['http://there:1'])
  expect(await urlsFor('--url', '=', 'http://there:1')).toEqual(['http://there:1'])
  expect(await urlsFor('--url', '=', 'http', ':', '//there', ':', '1')).toEqual(['http://there:1'])
})

it('prints nothing when the API does not respond in time', async () => {
  const { shell, api, out, err } = capturedShell()
  api.crash()
  expect(await run(['__complete', '--', 'stop', 'worker', ''], shell)).toBe(0)
  expect(out() + err()).toBe('')
  const slow = capturedShell()
  const transport = async () => () => new Promise<never>(() => undefined)
  const completing = run(['__complete', '--', 'stop', 'worker', ''], { ...slow.shell, transport })
  await slow.clock.advance(1_000)
  expect(await completing).toBe(0)
  expect(slow.out() + slow.err()).toBe('')
})

async function script(name: string): Promise<string> {
  const { shell, out } = capturedShell()
  expect(await run(['completion', name], shell)).toBe(0)
  return out()
}

/** Output of a shell that sources the script and runs a command. */
async function printed(name: string, before: string, after: string, flags: readonly string[]): Promise<string> {
  const text = `${before}\n${await script(name)}\n${after}`
  const { stdout, stderr } = spawnSync(name, [...flags, '-c', text], {
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return stdout
}

const isThere = (name: string): boolean => spawnSync(name, ['--version']).status === 0

it('receives the words from bash as they were typed', async () => {
  const lcm = `lcm() { [ "$1 $2" = "__complete --" ] && printf '%s\\n' "\${@:3}" "$((\${#@} - 2)) words" "two words"; }`
  const offers = (words: string, at: number) =>
    printed('bash', lcm, `COMP_WORDS=(lcm ${words}); COMP_CWORD=${at}; _lcm; printf '<%s>' "\${COMPREPLY[@]}"`, [
      '--norc',
    ])
  expect(await offers(`get 'a b' ''`, 3)).toBe(String.raw`<get><a\ b><3\ words><two\ words>`)
  expect(await offers('g', 1)).toBe('<g>')
  expect(await offers('get -o =', 3)).toBe(String.raw`<get><-o><3\ words><two\ words>`)
})

it('never lets bash run a command contained in a name', async () => {
  const lcm = `lcm() { printf '%s\\n' '$(echo run >&2)' '*'; }`
  const offers = `COMP_WORDS=(lcm get worker ''); COMP_CWORD=3; _lcm; printf '<%s>' "\${COMPREPLY[@]}"`
  expect(await printed('bash', lcm, offers, ['--norc'])).toBe(String.raw`<\$\(echo\ run\ \>\&2\)><\*>`)
})

it('completes every name in a real bash to one word that means this name', async () => {
  const names = [
    '$(touch ran)',
    '`touch ran`',
    '; touch ran',
    '| touch ran',
    '"a" \'b\'',
    '*',
    '~',
    '$HOME',
    '\\',
    '!!',
    'a#b',
  ]
  const { shell, api, out } = capturedShell()
  for (const [at, name] of names.entries()) api.put(aWorker({ id: `w-${at}`, name }))
  await run(['__complete', '--', 'stop', 'worker', ''], shell)
  const folder = mkdtempSync(join(tmpdir(), 'lcm-completion-'))
  writeFileSync(join(folder, 'offered'), out())
  const typed = `COMP_WORDS=(lcm stop worker ''); COMP_CWORD=3; _lcm`
  const entered = `for word in "\${COMPREPLY[@]}"; do eval "set -- $word"; printf '%s %s\\n' "$#" "$1"; done`
  const words = await printed('bash', `cd '${folder}'; lcm() { cat offered; }`, `${typed}; ${entered}`, ['--norc'])
  expect(words.trimEnd().split('\n').toSorted()).toEqual(names.map(name => `1 ${name}`).toSorted())
  expect(readdirSync(folder)).toEqual(['offered'])
})

it.skipIf(!isThere('zsh'))(
  'is called by zsh with the words as they were typed (skipped where there is no zsh)',
  async () => {
    const lcm = `lcm() { [[ "$1 $2 $6" = "__complete -- " ]] && printf '%s\\n' "$3" "$4" "" "two words" }
compdef() { :; }; compset() { :; }; _files() { printf '<files>' }; compadd() { shift; printf '<%s>' "$@" }`
    const offers = (words: string, at: number) =>
      printed('zsh', lcm, `words=(lcm ${words}); CURRENT=${at}; _lcm`, ['-f'])
    expect(await offers(`get 'a b' '' later`, 4)).toBe('<get><a b><two words>')
    expect(await offers('get a b c', 5)).toBe('<files>')
  },
)

it.skipIf(!isThere('fish'))(
  'is called by fish with the words as they were typed (skipped where there is no fish)',
  async () => {
    const lcm = `function lcm; test "$argv[3]" = get; and printf '%s\\n' $argv[3..] (count $argv)' words' 'two words'; end`
    const offers = (line: string) => printed('fish', lcm, `complete -C "lcm ${line}"`, ['--no-config'])
    expect((await offers("get 'a b' ")).split('\n').filter(Boolean).toSorted()).toEqual([
      '5 words',
      'a b',
      'get',
      'two words',
    ])
    expect(await offers('apply --file /et')).toBe('/etc/\n')
    expect(await offers('apply --file=/et')).toBe('--file=/etc/\n')
  },
)

it('refuses other shells', async () => {
  expect(await run(['completion', 'csh'], capturedShell().shell)).toBe(2)
})
