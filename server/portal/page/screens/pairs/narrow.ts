/** Whether the page is too narrow for a table. */
import { useEffect, useState } from 'preact/hooks'

const query = matchMedia('(max-width: 640px)')

export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(query.matches)
  useEffect(() => {
    const change = () => setNarrow(query.matches)
    query.addEventListener('change', change)
    return () => query.removeEventListener('change', change)
  }, [])
  return isNarrow
}
