import { describe, expect, it } from 'vitest'
import { HOST_PATTERN, isHostListed } from './host-list.ts'

describe('a list of hosts', () => {
  it.each([
    ['labs.example', 'https://labs.example/x', true],
    ['labs.example', 'https://LABS.example./x', true],
    ['labs.example', 'https://labs.example:8443/x', true],
    ['labs.example', 'https://a.labs.example/', false],
    ['labs.example', 'https://labs.example.org/', false],
    ['labs.example:8443', 'https://labs.example:8443/', true],
    ['labs.example:8443', 'https://labs.example/', false],
    ['labs.example:443', 'https://labs.example/', true],
    ['labs.example:80', 'http://labs.example/', true],
    ['*.example', 'https://a.b.example/', true],
    ['*.example', 'https://example/', false],
    ['*.example', 'https://myexample/', false],
    ['*.example:8443', 'https://a.example:8443/', true],
    ['127.0.0.1', 'https://2130706433/', true],
    ['[::1]:8443', 'https://[::1]:8443/', true],
    ['[::1]', 'https://[::1]/', true],
  ])('with %s: %s is listed: %s', (pattern, url, isListed) => {
    expect(pattern).toMatch(HOST_PATTERN)
    expect(isHostListed([pattern], new URL(url))).toBe(isListed)
  })

  it('that is empty lists no host', () => expect(isHostListed([], new URL('https://labs.example'))).toBe(false))

  it.each(['https://labs.example', 'labs.example/x', '*', '*.', 'a b', '', 'labs.*', 'a..b', 'a:b', '::1'])(
    'refuses the pattern %j',
    pattern => expect(pattern).not.toMatch(HOST_PATTERN),
  )
})
