/** Parts that leave the page at its right or left side, where nobody can read them without scrolling sideways. */
import type { Page } from 'playwright-core'

/** Runs in the page. A part that scrolls by itself, such as a block of code, may be wider. */
const find = `(() => {
  const scrolls = (each) => each !== null && each !== document.documentElement &&
    (/auto|scroll/.test(getComputedStyle(each).overflowX) || scrolls(each.parentElement))
  const wide = [...document.body.querySelectorAll('*')].filter((each) => {
    const { left, right, width, height } = each.getBoundingClientRect()
    // A part that is only for screen readers lies outside on purpose.
    return width > 1 && height > 1 && right > 0 && (right > innerWidth + 1 || left < -1) && !scrolls(each)
  })
  const found = wide.map((each) => each.tagName + '.' + each.getAttribute('class') + ': ' + each.textContent.slice(0, 60))
  if (document.documentElement.scrollWidth > innerWidth) found.push('the page is ' + document.documentElement.scrollWidth + ' wide')
  return found.slice(0, 5)
})()`

export const sideways = (page: Page): Promise<string[]> => page.evaluate<string[]>(find)
