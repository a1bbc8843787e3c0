// What pages do besides showing themselves: they know the viewer's zone, keep what somebody is at work on while
// they read themselves anew, and answer to a few keys. Without it every page works, and stays as it was loaded.
(function () {
  'use strict';

  // The server writes times; it asks for the zone once.
  var zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && document.cookie.indexOf('nightshift-zone=' + encodeURIComponent(zone)) < 0) {
    var secure = location.protocol === 'https:' ? '; Secure' : '';
    document.cookie = 'nightshift-zone=' + encodeURIComponent(zone) + '; Path=/; SameSite=Strict; Max-Age=31536000' + secure;
    if (document.querySelector('time') && document.cookie.indexOf('nightshift-zone=') >= 0) location.reload();
  }

  // A browser has six connections to a server for all of its tabs, and a stream holds one: a page has its stream
  // while it is in sight, and reads itself anew when it comes into sight again.
  var opened = false;
  htmx.createEventSource = function (url) {
    var source = null, listeners = [];
    var stream = {
      readyState: EventSource.CONNECTING,
      addEventListener: function (type, heard) {
        listeners.push([type, heard]);
        if (source) source.addEventListener(type, heard);
      },
      removeEventListener: function (type, heard) {
        listeners = listeners.filter(function (l) { return l[0] !== type || l[1] !== heard; });
        if (source) source.removeEventListener(type, heard);
      },
      close: function () {
        stream.readyState = EventSource.CLOSED;
        document.removeEventListener('visibilitychange', look);
        drop();
      }
    };
    function drop() {
      if (source) source.close();
      source = null;
    }
    function open() {
      source = new EventSource(url);
      listeners.forEach(function (l) { source.addEventListener(l[0], l[1]); });
      source.onopen = function (e) {
        stream.readyState = EventSource.OPEN;
        if (stream.onopen) stream.onopen(e);
        var live = document.getElementById('live');
        // A stream tells what happens from here on: a page that was not read just now may have missed something.
        if (live && (opened || performance.now() > 1000)) htmx.trigger(live, 'refresh');
        opened = true;
      };
      source.onerror = function (e) {
        stream.readyState = e.target.readyState;
        if (stream.readyState === EventSource.CLOSED) stream.close(); // and htmx makes another one
        if (stream.onerror) stream.onerror(e);
      };
    }
    function look() {
      if (document.hidden) return drop();
      if (!source) open();
    }
    document.addEventListener('visibilitychange', look);
    if (!document.hidden) open();
    return stream;
  };

  // Somebody is at work in a part: a field has the focus, a box is ticked, a question is open.
  function atWork(part) {
    var at = document.activeElement;
    return (at && part.contains(at) && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) ||
      part.querySelector('input[type=checkbox]:checked:not([data-kept]), details.confirm[open]') !== null;
  }

  // Which details are open, by their id, and where focus is, outlive a refresh.
  var open = {}, focus = null;
  document.addEventListener('htmx:beforeRequest', function (e) {
    if (e.target.id === 'live' && atWork(e.target)) e.preventDefault();
  });
  document.addEventListener('htmx:beforeSwap', function (e) {
    if (e.target.id !== 'live') return;
    if (e.detail.xhr.status !== 200 || atWork(e.target)) { e.detail.shouldSwap = false; return; }
    open = {};
    e.target.querySelectorAll('details[id]').forEach(function (d) { open[d.id] = d.open; });
    var at = document.activeElement;
    focus = at && e.target.contains(at) ? at.id || at.getAttribute('href') : null;
  });
  document.addEventListener('htmx:afterSwap', function () {
    Object.keys(open).forEach(function (id) {
      var d = document.getElementById(id);
      if (d) d.open = open[id];
    });
    if (focus) {
      var live = document.getElementById('live');
      var again = live && (live.querySelector('#' + CSS.escape(focus)) || live.querySelector('[href="' + CSS.escape(focus) + '"]'));
      if (again) again.focus({preventScroll: true});
    }
    document.dispatchEvent(new Event('nightshift:shown'));
  });

  // A box that ticks all of its name: data-all="ids".
  document.addEventListener('change', function (e) {
    var name = e.target.getAttribute && e.target.getAttribute('data-all');
    if (name) document.querySelectorAll('input[name="' + CSS.escape(name) + '"]').forEach(function (box) { box.checked = e.target.checked; });
    if (e.target.matches && e.target.matches('select[data-go]')) e.target.form.submit();
  });

  // Keys: / finds, g and a letter goes to a page, Escape closes what is open.
  var pages = {o: '/', r: '/runs', f: '/failures', j: '/jobs', s: '/schedules', g: '/groups', d: '/dependencies', q: '/queues', a: '/alerts'};
  var going = 0;
  document.addEventListener('keydown', function (e) {
    if (e.key === 'Escape') document.querySelectorAll('details.confirm[open], details.menu[open]').forEach(function (d) { d.open = false; });
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
    if (e.key === '/') {
      var find = document.querySelector('.find input');
      if (find) { e.preventDefault(); find.focus(); }
    } else if (Date.now() - going < 1500 && pages[e.key]) {
      location.href = pages[e.key];
    }
    going = e.key === 'g' ? Date.now() : 0;
  });
})();
