/** Buttons, the filter, and links into closed sections. The page is readable without it. */
export const SCRIPT = `'use strict'
const all = (selector, within = document) => [...within.querySelectorAll(selector)]

// Samples call the server of this page.
for (const code of all('.sample code')) {
  code.textContent = code.textContent.replaceAll('http://localhost:8080', location.origin)
}

function button(label, run) {
  const made = document.createElement('button')
  made.type = 'button'
  made.textContent = label
  made.addEventListener('click', () => run(made))
  return made
}

async function copy(sample, pressed) {
  const code = sample.querySelector('code')
  try {
    await navigator.clipboard.writeText(code.textContent)
    pressed.textContent = 'Copied'
  } catch {
    getSelection().selectAllChildren(code)
    pressed.textContent = 'Selected'
  }
  pressed.addEventListener('blur', () => { pressed.textContent = 'Copy' }, { once: true })
}

// Uses the session of the console, if this browser has one; otherwise the response explains how to sign in.
async function tryIt(sample, pressed) {
  pressed.disabled = true
  const shown = sample.querySelector('.live') ?? sample.appendChild(document.createElement('pre'))
  shown.className = 'live'
  shown.tabIndex = 0
  shown.setAttribute('role', 'status')
  shown.textContent = '…'
  try {
    const answer = await fetch(sample.dataset.try)
    const text = await answer.text()
    shown.textContent = answer.status + ' ' + answer.statusText + '\\n' + pretty(text)
  } catch (error) {
    shown.textContent = String(error)
  }
  pressed.disabled = false
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

for (const sample of all('.sample')) {
  const head = sample.querySelector('figcaption')
  if (sample.dataset.try) head.append(button('Try it', pressed => tryIt(sample, pressed)))
  head.append(button('Copy', pressed => copy(sample, pressed)))
}

const filter = document.getElementById('filter')
const operations = all('.operation').map(part => ({
  part,
  text: part.querySelector('summary').textContent.toLowerCase(),
}))

function applyFilter() {
  const words = filter.value.toLowerCase().split(/\\s+/).filter(Boolean)
  for (const { part, text } of operations) part.hidden = !words.every(word => text.includes(word))
  const filtering = words.length > 0
  for (const section of all('main > section')) {
    section.hidden = filtering && all('.operation:not([hidden])', section).length === 0
  }
  for (const heading of all('main section > h3')) heading.hidden = filtering
  const left = operations.filter(({ part }) => !part.hidden).length
  document.getElementById('filter-count').textContent = filtering ? left + ' of ' + operations.length : ''
}

filter.addEventListener('input', applyFilter)
filter.parentElement.hidden = false

// A link to a closed section opens it, and a link to a filtered one clears the filter.
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (!target) return
  if (target.closest('[hidden]')) {
    filter.value = ''
    applyFilter()
  }
  if (target.tagName === 'DETAILS') target.open = true
  target.scrollIntoView()
}

addEventListener('hashchange', openTarget)
openTarget()
`
