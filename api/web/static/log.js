// The log of a run as it comes, on the one stream of its page. The server has written what there was; the stream goes
// on from there, also after it was cut off.
(function () {
  'use strict';
  var most = 512 * 1024; // characters in the page

  function follow(log) {
    var at = log.getAttribute('data-from'), held = log.textContent.length, wait = 1000, source = null, over = false, opened = false;
    function drop() {
      if (source) source.close();
      source = null;
    }
    function open() {
      if (over || source || document.hidden) return; // as with the other stream: see app.js
      source = new EventSource(log.getAttribute('data-stream') + '?from=' + at);
      source.onopen = function () {
        if (opened || performance.now() > 1000) refresh(); // as with the other stream
        opened = true;
      };
      source.addEventListener('log', function (e) {
        wait = 1000;
        at = e.lastEventId;
        var text = JSON.parse(e.data).text;
        var atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
        log.appendChild(document.createTextNode(text));
        held += text.length;
        while (held > most && log.childNodes.length > 1) {
          held -= log.firstChild.length;
          log.removeChild(log.firstChild);
        }
        if (atEnd) log.scrollTop = log.scrollHeight;
      });
      source.addEventListener('changed', refresh);
      source.addEventListener('end', function () {
        over = true;
        drop();
        refresh();
      });
      source.onerror = function () {
        drop();
        setTimeout(open, wait);
        wait = Math.min(30000, 2 * wait);
      };
    }
    document.addEventListener('visibilitychange', function () {
      if (document.hidden) return drop();
      open();
    });
    open();
  }

  function refresh() {
    var live = document.getElementById('live');
    if (live) htmx.trigger(live, 'refresh');
  }

  // What an address names is in sight: the details that it stands in open.
  function opened() {
    var part = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (var at = part; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
    if (part) part.scrollIntoView();
  }
  window.addEventListener('hashchange', opened);

  document.addEventListener('DOMContentLoaded', function () {
    if (location.hash) opened();
    var log = document.getElementById('log');
    if (log) log.scrollTop = log.scrollHeight;
    if (log && log.hasAttribute('data-stream')) follow(log);
  });
})();
